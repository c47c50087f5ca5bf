"""What a capable local model is asked, and what it said.

plan.toml    which conversations are held, with which tools and settings
planning     the plan as conversations
holding      holds them, and keeps each reply in a recording; goes on where it was stopped
qwen/        what Qwen2.5-Coder-1.5B-Instruct answered, a recording a file; temperature 0, seed 42
"""
