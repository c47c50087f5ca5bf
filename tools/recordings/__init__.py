"""What a capable local model is asked: `python -m tools.recordings`.

plan.toml    which conversations are held, with which tools and settings
planning     the plan as conversations
holding      holds them, and keeps each reply in a recording; goes on where it was stopped

What Qwen2.5-Coder-1.5B-Instruct answered comes with zoolab: zoolab/models/recordings/qwen-<set>.jsonl.gz.
A set that is complete is put there by `gzip -n9`; to add to one, the command begins from it.
"""
