"""What runs on the student's side: files of the standard library only, which never see a case."""
