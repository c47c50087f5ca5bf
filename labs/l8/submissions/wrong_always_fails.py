"""Finds fault with everything."""


def faults_of(run):
    record = run([{"role": "user", "content": "Hello"}], [{"role": "assistant", "content": "Hi"}], {})
    return [f"it said {record['messages'][-1]['content']}"]
