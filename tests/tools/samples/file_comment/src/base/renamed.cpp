// old_name.cpp: was renamed. want(file-comment)
