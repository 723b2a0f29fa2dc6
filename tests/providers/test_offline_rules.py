"""Each rule of the offline model reads something out of a prompt."""

from __future__ import annotations

from typing import Any

from console_app.providers.offline.arithmetic import expressions
from tests.each import each
from tests.providers.offline_play import ask
from tests.providers.offline_tools import CALCULATOR, EVERYTHING, LONG_TASK, tool

SUMS = {
    "Calculate these three things: (1) 355/113, (2) sqrt(2), (3) e^pi": ["355/113", "sqrt(2)", "e^pi"],
    "2^64 and 3*7": ["2^64", "3*7"],
    "what is 12*9?": ["12*9"],
    "and 2^10": ["2^10"],
    "1. 2+2\n2. 3 * 3\n3. 10 // 4": ["2+2", "3 * 3", "10 // 4"],
    "- 5+5\n- 2 plus 2\n* sqrt(16)": ["5+5", "2 + 2", "sqrt(16)"],
    "a) 7/8 b) 2**8": ["7/8", "2^8"],
    "15% of 80": ["15/100*80"],
    "how much is 20 percent of 50": ["20/100*50"],
    "what's 5! + 2": ["factorial(5) + 2"],
    "the factorial of 20": ["factorial(20)"],
    "square root of 2 plus 1": ["sqrt(2) + 1"],
    "2 to the power of 10": ["2^10"],
    "12 times 9, 10 divided by 4": ["12 * 9", "10 / 4"],
    "calculate 1,000,000/7": ["1000000/7"],
    "max(1,200) + min(3, 4)": ["max(1, 200) + min(3, 4)"],
    "2π and 3(4+5)": ["2*pi", "3*(4+5)"],
    "3² + 4³": ["3^2 + 4^3"],
    "7 squared": ["7^2"],
    "what is pi?": ["pi"],
    "`2^64`": ["2^64"],
    "compute -(3 - 5) * 2": ["-(3 - 5) * 2"],
    "17 % 5": ["17 % 5"],
    "6 × 7 ÷ 2": ["6 * 7 / 2"],
    "sin(pi/4)": ["sin(pi/4)"],
    "and now: 1+1!": ["1+1"],
}
NO_SUMS = [
    "",
    "hello there",
    "we met on 2024-05-06, or 12/05/2024",
    "open 24/7",
    "read src/2*3.py",
    "version 1.2.3-4 of foo-2",
    "a one-slide deck for e-mail",
    "at 10:30-11:45",
    "https://example.org/1/2",
    "pages 3-4 of the book",
    "1920x1080",
    "(1+" * 2_000,
    "the e in pie",
    "(((((((((((((((((((((((((((((((((((((((((((((((((1",
    "100% sure",
]


@each("prompt", SUMS)
def test_a_calculation_in_a_sentence_is_read_and_written_for_the_calculator(prompt: str) -> None:
    assert [written for _, _, written in expressions(prompt)] == SUMS[prompt]


@each("prompt", NO_SUMS)
def test_what_only_looks_like_a_calculation_is_left_alone(prompt: str) -> None:
    assert list(expressions(prompt)) == []


PLANS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "Calculate these three things: (1) 355/113, (2) sqrt(2), (3) e^pi": [
        ("calculator_evaluate", {"expression": "355/113"}),
        ("calculator_evaluate", {"expression": "sqrt(2)"}),
        ("calculator_evaluate", {"expression": "e^pi"}),
    ],
    "Look up all orders for customer 'Acme Corp' and also get the total revenue summary": [
        ("order_database_find_orders", {"customer": "Acme Corp"}),
        ("order_database_revenue_summary", {}),
    ],
    "Read the README.md file in this directory, and update the To Do list to add 'Check for coolness'. These are "
    "independent actions and should be requested in the SAME response.": [
        ("files_read_file", {"path": "README.md"}),
        ("fanout_update_todo_list", {"todos": [{"content": "Check for coolness", "status": "pending"}]}),
    ],
    "Run two long tasks of 6 seconds each and calculate 2+2": [
        ("demo_long_task", {"task": "task 1", "duration_seconds": 6}),
        ("demo_long_task", {"task": "task 2", "duration_seconds": 6}),
        ("calculator_evaluate", {"expression": "2+2"}),
    ],
    "three long tasks: 3, 1 and 2.5 s": [
        ("demo_long_task", {"task": "task 1", "duration_seconds": 3}),
        ("demo_long_task", {"task": "task 2", "duration_seconds": 1}),
        ("demo_long_task", {"task": "task 3", "duration_seconds": 2.5}),
    ],
    "run four long tasks of 2 s and show status updates": [
        ("demo_long_task", {"task": f"task {number}", "duration_seconds": 2}) for number in range(1, 5)
    ],
    "With status updates, run two long tasks": [
        ("demo_long_task", {"task": f"task {number}", "duration_seconds": 3}) for number in (1, 2)
    ],
    "run a long task. Then show status updates": [
        ("demo_long_task", {"task": "task 1", "duration_seconds": 3}),
        ("demo_status_updates", {"stages": ["stage 1", "stage 2", "stage 3", "stage 4"]}),
    ],
    "run a long task and one status update with 2 stages": [
        ("demo_long_task", {"task": "task 1", "duration_seconds": 3}),
        ("demo_status_updates", {"stages": ["stage 1", "stage 2"]}),
    ],
    "show status updates with 2 stages": [("demo_status_updates", {"stages": ["stage 1", "stage 2"]})],
    "make a call fail with 'boom'": [("demo_fail", {"message": "boom"})],
    "a big result of 2 MB": [("demo_big", {"bytes": 2_000_000})],
    "list the files in docs/ and read a.txt and b.txt": [
        ("files_list_files", {"path": "docs/"}),
        ("files_read_file", {"path": "a.txt"}),
        ("files_read_file", {"path": "b.txt"}),
    ],
    "what files are here?": [("files_list_files", {"path": "."})],
    "search the files for 'TODO'": [("files_search_files", {"pattern": "TODO", "path": "."})],
    "add milk and bread to my to-do list": [
        (
            "fanout_update_todo_list",
            {"todos": [{"content": "milk", "status": "pending"}, {"content": "bread", "status": "pending"}]},
        ),
    ],
    "list all orders, get order 12 and mark order 3 as shipped": [
        ("order_database_list_all_orders", {}),
        ("order_database_get_order", {"order_id": 12}),
        ("order_database_update_order_status", {"order_id": 3, "status": "shipped"}),
    ],
    "search for 'a b', 'c' and 'd'": [
        ("duckduckgo_search_and_fetch", {"query": "a b", "max_results": 3}),
        ("duckduckgo_search_and_fetch", {"query": "c", "max_results": 3}),
        ("duckduckgo_search_and_fetch", {"query": "d", "max_results": 3}),
    ],
    "three searches at once: cats and dogs, rust": [
        ("duckduckgo_search_and_fetch", {"query": "cats", "max_results": 3}),
        ("duckduckgo_search_and_fetch", {"query": "dogs", "max_results": 3}),
        ("duckduckgo_search_and_fetch", {"query": "rust", "max_results": 3}),
    ],
    'demo.long_task {"task": "x", "duration_seconds": 1}\ndemo_fail {"message": "no {2*3}"}\nrevenue_summary({})': [
        ("demo_long_task", {"task": "x", "duration_seconds": 1}),
        ("demo_fail", {"message": "no {2*3}"}),
        ("order_database_revenue_summary", {}),
    ],
    "call demo.fail": [("demo_fail", {})],
}


@each("prompt", PLANS)
async def test_the_parts_of_a_prompt_become_parallel_calls_of_one_answer(prompt: str) -> None:
    reply = await ask(prompt, EVERYTHING)
    assert reply.named == PLANS[prompt]
    assert reply.finish == "tool_calls"
    assert len({call.id for call in reply.calls}) == len(reply.calls)


async def test_a_power_and_a_powerpoint_are_asked_for_together() -> None:
    reply = await ask(
        "I need two things at once: calculate 2^64 and create a one-slide PowerPoint about parallel computing",
        EVERYTHING,
    )
    (calculator, sum_arguments), (slides, slide_arguments) = reply.named
    assert (calculator, sum_arguments) == ("calculator_evaluate", {"expression": "2^64"})
    assert slides == "pptx_generator_markdown_to_pptx"
    assert slide_arguments["markdown_content"].startswith("# Parallel computing\n")
    assert slide_arguments["file_name"] == "parallel_computing.pptx"


async def test_arguments_written_out_run_byte_for_byte() -> None:
    written = '{ "message" :  "two  spaces, \\u00e9" }'
    reply = await ask(f"demo.fail {written}", EVERYTHING)
    assert reply.calls[0].arguments == written


@each(
    ("prompt", "said"),
    [
        ('demo.fail {"message": "x}', "its arguments are not JSON"),
        ('demo.fail {"message": NaN}', "NaN is not JSON"),
        ("demo.fail " + '{"a":' * 5000, "its arguments are not JSON"),
        ('demo.nothing {"a": 1}', "There is no tool `demo.nothing` on"),
        ('demo.long_task {"task": "x"}', "it needs `duration_seconds`"),
        ("calculator.evaluate", "it needs `expression`"),
    ],
)
async def test_a_written_call_that_cannot_run_says_why_and_runs_nothing(prompt: str, said: str) -> None:
    reply = await ask(prompt, EVERYTHING)
    assert reply.calls == []
    assert said in reply.text


async def test_the_good_one_of_two_written_calls_still_runs() -> None:
    reply = await ask('demo.fail {"message": "x}\ncalculator.evaluate {"expression": "1+1"}', EVERYTHING)
    assert reply.named == [("calculator_evaluate", {"expression": "1+1"})]
    assert "not JSON" in reply.text


@each(
    ("prompt", "said"),
    [
        ("what is 2^64?", "I can't work out `2^64`"),
        ("read README.md", "I can't read `README.md`"),
        ("run two long tasks of 6 s", "I can't run a long task"),
        ("add 'x' to my to-do list", "I can't change the to-do list"),
        ("create a slide about bees", "I can't make a presentation"),
        ("search the web for bees", "I can't search the web"),
        ("total revenue", "`order_database.revenue_summary`"),
    ],
)
async def test_a_tool_that_is_off_is_named_and_nothing_is_made_up(prompt: str, said: str) -> None:
    reply = await ask(prompt, [])
    assert reply.calls == []
    assert reply.finish == "stop"
    assert said in reply.text
    assert "offline rehearsal model" in reply.text


async def test_what_needs_understanding_is_named_while_the_rest_is_done() -> None:
    reply = await ask("Calculate 2^64 and write a poem about it", EVERYTHING)
    assert [name for name, _ in reply.named] == ["calculator_evaluate"]
    assert "`write a poem about it` is beyond me" in reply.text


async def test_any_calculator_will_do() -> None:
    other = tool("maths", "calculate", {"expr": {"type": "string"}}, "expr")
    assert (await ask("2^8", [other])).named == [("maths_calculate", {"expr": "2^8"})]


async def test_a_calculator_that_wants_more_than_an_expression_is_not_called() -> None:
    other = tool(
        "maths", "calculate", {"expression": {"type": "string"}, "key": {"type": "string"}}, "expression", "key"
    )
    assert (await ask("2^8", [other])).calls == []


async def test_a_flood_of_sums_is_bounded_and_said() -> None:
    reply = await ask("\n".join(f"{number}*2" for number in range(100)), [CALCULATOR])
    assert len(reply.calls) == 64
    assert "36 were left out" in reply.text


async def test_a_very_long_prompt_is_read_from_its_beginning_and_said() -> None:
    reply = await ask("2^8 " + "word " * 50_000, [CALCULATOR, LONG_TASK])
    assert reply.named == [("calculator_evaluate", {"expression": "2^8"})]
    assert "first 8,000 characters" in reply.text
