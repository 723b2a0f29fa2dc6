"""Files of the user: attached, named in a prompt, compared with what a call would make of them, opened and copied."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.console.files.attached_files import Walk as Walk
    from console_app.console.files.attached_files import walk as walk
    from console_app.console.files.attachments import Attachments as Attachments
    from console_app.console.files.attachments import Chip as Chip
    from console_app.console.files.attachments import Composed as Composed
    from console_app.console.files.attachments import sweep as sweep
    from console_app.console.files.clipboard import EditorError as EditorError
    from console_app.console.files.clipboard import copy_in_tmux as copy_in_tmux
    from console_app.console.files.clipboard import edited as edited
    from console_app.console.files.clipboard import open_file as open_file
    from console_app.console.files.clipboard import read_clipboard as read_clipboard
    from console_app.console.files.file_changes import LARGEST as LARGEST
    from console_app.console.files.file_changes import FileChange as FileChange
    from console_app.console.files.file_changes import FileChanges as FileChanges
    from console_app.console.files.file_changes import NotComparedError as NotComparedError
    from console_app.console.files.file_changes import change_in_time as change_in_time
    from console_app.console.files.file_changes import diff_report as diff_report
    from console_app.console.files.file_changes import histories as histories
    from console_app.console.files.file_changes import put_back as put_back
    from console_app.console.files.file_changes import text_of as text_of
    from console_app.console.files.mentions import LineRange as LineRange
    from console_app.console.files.mentions import file_mentions as file_mentions
    from console_app.console.files.mentions import written_path as written_path
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
