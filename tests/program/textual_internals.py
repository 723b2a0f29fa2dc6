"""The parts of Textual that it doesn't promise and the console needs: every use, with its reason, read in 8.2.8.

`tests/program/test_library_internals.py` holds the table against the Textual that is installed and against the code.
"""

from __future__ import annotations

from typing import Final

# module:Class.name, of a method with its parameters; and where and why it is used.
INTERNALS: Final[dict[str, str]] = {
    "async textual.app:App._dispatch_action(namespace, action_name, params)": (
        "tui/app.py overrides it: a key whose action fails is a line on the screen"
    ),
    "textual.app:App._handle_exception(error)": (
        "tui/app.py overrides it: an internal error is told and survived, or reported, and no traceback is shown"
    ),
    "textual.app:App._return_code": "end_by_error: the process says that it failed",
    "textual.app:App._exception": "end_by_error: the first error, which Pilot raises",
    "textual.app:App._exception_event": "end_by_error: wakes Pilot",
    "textual.app:App._close_messages_no_wait()": "end_by_error: ends the app's message loop",
    "textual.app:App._driver": "driver_of: the terminal is given back whatever ended the app",
    "textual.app:App._keymap": "keymap_of: help shows the keys as your configuration has them",
    "textual.app:App._notifications": "forget_toasts: what is said twice stands once",
    "textual.app:App._unnotify(notification, refresh)": "forget_toasts",
    "textual.css.stylesheet:Stylesheet._parse_cache": (
        "tui/themes.py: what is parsed is kept for each theme; Textual's is emptied by a new dialog's sheet"
    ),
    "textual.css.stylesheet:Stylesheet.reparse()": "tui/themes.py: Textual's has an empty cache of its own",
    "textual.dom:DOMNode._bindings": "own_bindings: help shows the keys of one widget; active_bindings mixes all",
    "async textual.message_pump:MessagePump._dispatch_message(message)": (
        "tui/main_screen/screen.py overrides it: a message whose handler fails is a line on the screen"
    ),
    "async textual.screen:Screen._on_resize(event)": (
        "tui/main_screen/base.py: prevents Textual's own for a size that is none any more"
    ),
    "textual.screen:Screen._screen_resized(size)": (
        "tui/widgets/dialog.py: a dialog that opens isn't laid out and painted twice for the same size"
    ),
    "async textual.screen:Screen._on_update(message)": (
        "tui/main_screen/base.py: a typed letter is painted behind it, without waiting for Textual's own timer"
    ),
    "async textual.screen:Screen._message_loop_exit()": (
        "tui/widgets/dialog.py, tui/main_screen/base.py: ends a screen's work before its widgets go"
    ),
    "textual.screen:Screen._compositor": "lines_of: the whole screen as a recording keeps it",
    "textual.screen:Screen._on_timer_update()": (
        "lines_of: a recording's frames come when it says so; paint_now: a letter, and the end of an answer; "
        "TimedScreen overrides it: the view rests for what a frame took"
    ),
    "textual.screen:Screen._dirty_widgets": (
        "paint_now: what else is to be painted is not waited for; TimedScreen: whose frame it was"
    ),
    "textual._compositor:Compositor.render_strips(size)": "lines_of: its lines, as they would be painted",
    "async textual.widget:Widget._on_click(event)": (
        "tui/lineview/view.py: prevents Textual's own, which selects everything on a double click"
    ),
    "async textual.widgets:TextArea._on_key(event)": (
        "tui/prompt/prompt.py: runs before the text area's own and can prevent it writing a key that is bound"
    ),
    "async textual.widgets:TextArea._on_paste(event)": "tui/prompt/prompt.py: a long paste is shown as one line",
    "textual.widgets:TextArea._replace_via_keyboard(insert, start, end)": (
        "tui/prompt/prompt.py: writes as a key does: `replace` with the cursor put behind what was written"
    ),
    "textual._xterm_parser:XTermParser(debug)": "tui/terminal/driver.py: input is parsed piece by piece",
    "textual._xterm_parser:XTermParser.feed(data)": "tui/terminal/driver.py: text in, messages out",
    "textual._xterm_parser:XTermParser.tick()": "tui/terminal/driver.py: a lone Escape, once its time is over",
    "textual.driver:Driver._app": "tui/terminal/driver.py: repaints, and ends the app when the terminal is gone",
    "textual.driver:Driver._loop": "tui/terminal/driver.py: a signal handler hands over to it",
    "textual.driver:Driver._debug": "tui/terminal/driver.py: handed to the parser, as Textual does",
    "textual.drivers.linux_driver:LinuxDriver._in_band_window_resize": (
        "tui/terminal/driver.py: whether the terminal reports its size itself; then SIGWINCH doesn't count"
    ),
    "textual.drivers.linux_driver:LinuxDriver._get_terminal_size()": (
        "tui/terminal/driver.py overrides it: what the terminal says, not what COLUMNS said when the shell started"
    ),
    "textual.drivers.linux_driver:LinuxDriver.run_input_thread()": "tui/terminal/driver.py: replaced as a whole",
    "textual.drivers.linux_driver:LinuxDriver.process_message(message)": (
        "tui/terminal/driver.py overrides it: sizes that nobody asked for are passed over"
    ),
    "textual.drivers.linux_driver:LinuxDriver.fileno": "tui/terminal/driver.py: reads the terminal",
    "textual.drivers.linux_driver:LinuxDriver.exit_event": "tui/terminal/driver.py: when to stop reading",
    "textual.drivers.linux_driver:LinuxDriver.attrs_before": "tui/terminal/driver.py: the terminal's modes to restore",
    "textual.widget:Widget.virtual_size": (
        "set_virtual_size_without_layout: a reactive whose setter lays out the whole screen for each new line"
    ),
    "textual.widget:Widget._vertical_scrollbar": "give_scroll_bar: what `vertical_scrollbar` gives once it is there",
    "textual.app:App._start_widget(parent, widget)": "give_scroll_bar: as `vertical_scrollbar` starts its own",
    "textual.scrollbar:ScrollBar.window_virtual_size": "set_virtual_size_without_layout: what the layout would set",
}
