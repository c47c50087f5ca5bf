"""Has nothing against anybody."""


def faults_of(run):
    run([{"role": "user", "content": "Hello"}], [{"role": "assistant", "content": "Hi"}], {})
    return []
