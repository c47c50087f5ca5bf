// Compile modules with Pyodide, in Node.js: node bytecode.mjs FOLDER PACKAGES ARCHIVES
// FOLDER holds Pyodide and the archives; PACKAGES and ARCHIVES are names with commas between them.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, packages, archives] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const pyodide = await loadPyodide({ indexURL: folder, packages: packages.split(",") });
pyodide.mountNodeFS("/archives", folder);
try {
    const names = pyodide.toPy({ __name__: "bytecode" });
    pyodide.runPython(readFileSync(new URL("bytecode.py", import.meta.url), "utf-8"), { globals: names });
    names.get("prepare")("/archives", pyodide.toPy(archives.split(",")));
} catch (problem) {
    // Node.js prints the whole of a file that throws, here more than a megabyte.
    console.error(problem.message);
    process.exitCode = 1;
}
