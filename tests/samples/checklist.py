"""Checklists as people write them: TODO.md, PLAN.md, IMPLEMENTATION_PLAN.md."""

from tests.samples.shape import Sample

SAMPLES = {
    "plain": Sample(
        text="# Shop\n\n- [ ] Add a cart\n- [ ] Add a till\n",
        steps="""
            add-a-cart
            add-a-till < add-a-cart
        """,
    ),
    "headings": Sample(
        name="TODO.md",
        text="# TODO\n\n## Now\n\n- [x] Parse dates\n- [ ] Print dates\n\n## Next\n\n* [ ] Time zones\n",
        steps="""
            parse-dates : done
            print-dates < parse-dates
            time-zones < print-dates
        """,
    ),
    "bullets of every kind": Sample(
        text="# P\n\n- [ ] One thing\n\n* [ ] Two things\n\n+ [ ] Three things\n\n1. [ ] Four things\n2) [x] Five things\n",
        steps="""
            one-thing
            two-things < one-thing
            three-things < two-things
            four-things < three-things
            five-things < four-things : done
        """,
    ),
    "marks": Sample(
        text="# P\n\n- [X] Big tick\n- [~] Half done\n- [-] Dropped or half done\n- [/] Begun\n- [!] Odd\n- [✓] Check mark\n",
        steps="""
            big-tick : done
            half-done < big-tick : claimed
            dropped-or-half-done < half-done : claimed
            begun < dropped-or-half-done : claimed
            odd < begun : claimed
            check-mark < odd : done
        """,
        codes=("mark_unknown", "mark_unknown"),
    ),
    "criteria are not steps": Sample(
        name="PLAN.md",
        text=(
            "# Plan\n\n## 1. Goal\n\n### Success Criteria ✅\n\n- [ ] Pages load fast\n\n## Phase 1\n\n### Tasks\n\n"
            "- [ ] Add a page\n- [ ] Add a style\n\n### Acceptance criteria\n\n- [ ] AC-1: The page is shown\n"
            "  - [ ] on a phone\n- [x] It is blue\n\n## Phase 2\n\n- [ ] Add a form\n\n"
            "**Definition of done**\n\n## Verification checklist\n\n- [ ] Run `make test`\n\n## Testing\n\n- [ ] Forms work\n"
        ),
        steps="""
            add-a-page
            add-a-style < add-a-page
            add-a-form < add-a-style
        """,
    ),
    "tests to write are steps": Sample(
        name="TODO.md",
        text="# P\n\n## Code\n\n- [ ] Add a cart\n\n## Testing\n\n- [ ] Write tests for it\n- [ ] Unit tests for tills\n",
        steps="""
            add-a-cart
            write-tests-for-it < add-a-cart
            unit-tests-for-tills < write-tests-for-it
        """,
    ),
    "what is deferred": Sample(
        name="IMPLEMENTATION_PLAN.md",
        text=(
            "# Plan\n\n## Phase 1\n\n- [ ] Add a page\n- [ ] ~~Add a frame~~ (nobody wants it)\n"
            "- [ ] Add a cache (deferred to the next release)\n- [ ] Rename ~~old~~ to new\n\n"
            "## Out of scope\n\n- [ ] Add a shop\n  - [ ] P-7 with a till\n- [~] Add a forum\n- [x] Add a map\n\n"
            "### Acceptance criteria\n\n- [ ] The shop is open\n\n## Phase 2\n\n- [ ] Add a form\n\n"
            "## 4. Known limits & future work\n\n- [ ] Add a robot\n\n## Deferred rendering\n\n- [ ] Add a buffer\n"
        ),
        steps="""
            add-a-page
            add-a-frame-nobody-wants-it < add-a-page : skipped
            add-a-cache-deferred-to-the-next-release < add-a-frame-nobody-wants-it : skipped
            rename-old-to-new < add-a-cache-deferred-to-the-next-release
            P-7 < rename-old-to-new : skipped
            add-a-forum < P-7 : skipped
            add-a-map < add-a-forum : done
            the-shop-is-open < add-a-map : skipped
            add-a-form < the-shop-is-open
            add-a-robot < add-a-form : skipped
            add-a-buffer < add-a-robot
        """,
        codes=("deferred", "deferred", "deferred", "deferred"),
    ),
    "a list of what was deferred": Sample(
        name="TODO.md",
        text="# Future work\n\n- [ ] Add a robot\n\n## Soon\n\n- [ ] Add a map\n",
        steps="""
            add-a-robot
            add-a-map < add-a-robot
        """,
    ),
    "boxes beside headings that say Step": Sample(
        name="PLAN.md",
        text=(
            "# P\n\n## Slice 1\n\n- [ ] Add a cart\n- [ ] Add a till\n\n## Slice 2\n\n- [ ] Add a bill\n\n"
            "## How to review\n\n### Step E: look back\n\nTalk.\n\n### Step F: look ahead\n\nTalk.\n"
        ),
        steps="""
            add-a-cart
            add-a-till < add-a-cart
            add-a-bill < add-a-till
        """,
    ),
    "criteria alone are steps": Sample(
        name="TODO.md",
        text="# P\n\n## Acceptance criteria\n\n- [ ] It is fast\n- [ ] It is small\n",
        steps="""
            it-is-fast
            it-is-small < it-is-fast
        """,
    ),
    "nested boxes are items": Sample(
        text="# P\n\n- [ ] Build it\n  - [x] the floor\n  - [ ] the roof\n    - [ ] tiles\n- [ ] Paint it\n",
        steps="""
            build-it
            paint-it < build-it
        """,
    ),
    "nested boxes with ids are steps": Sample(
        text="# P\n\n- [ ] 1. Build it\n  - [x] 1.1 The floor\n  - [ ] 1.2 The roof\n    - [ ] tiles\n- [ ] 2. Paint it\n",
        steps="""
            1.1 : done
            1.2 < 1.1
            2 < 1.2
        """,
    ),
    "boxes below plain bullets": Sample(
        text="# P\n\n- Backend\n  - [ ] Add a route\n- Frontend\n  - [ ] Add a page\n",
        steps="""
            add-a-route
            add-a-page < add-a-route
        """,
    ),
    "link bullets and citations are no boxes": Sample(
        text="# P\n\n- [x](https://example.com) is a link\n- [Guide](guide.md)\n- [1] a citation\n- [ ] Do it\n- [x]: see below\n",
        steps="do-it",
    ),
    "boxes in code, quotations and comments": Sample(
        text="# P\n\n```md\n- [ ] an example\n```\n\n> - [ ] quoted\n\n<!--\n- [ ] hidden\n-->\n\n- [ ] Real\n\n      - [ ] code\n",
        steps="real",
    ),
    "broken boxes are named": Sample(
        text="# P\n\n- [] No blank\n- [ x ] Too many\n- [ ]\n- [ ] Fine\n",
        steps="fine",
        codes=("box_unread", "box_unread"),
    ),
    "checks below a task": Sample(
        name="PLAN.md",
        text="# P\n\n- [ ] Add sums\n  - Run: `pytest -q tests/test_sums.py`\n  - Lint: `ruff check src` passes\n  - see `sums.py`\n"
        "- [ ] Add products\n  - [ ] Verify: `make test`\n  - Run: `make deploy`\n  - [ ] `make` is green when `CI=1`\n",
        steps="""
            add-sums ! pytest -q tests/test_sums.py ! ruff check src
            add-products < add-sums ! make test
        """,
    ),
    "ids of many kinds": Sample(
        name="IMPLEMENTATION_PLAN.md",
        text="# P\n\n- [ ] **TASK-12**: Twelve\n- [ ] `AB-3` Three\n- [ ] 4) Four\n- [ ] P1.2 Five\n- [ ] 404 page\n- [ ] S3 bucket\n",
        steps="""
            TASK-12
            AB-3 < TASK-12
            4 < AB-3
            P1.2 < 4
            404-page < P1.2
            s3-bucket < 404-page
        """,
    ),
    "the same words twice": Sample(
        text="# P\n\n## A\n\n- [ ] Write tests\n\n## B\n\n- [x] Write tests\n- [ ] 1. First\n- [ ] 1. Again\n",
        steps="""
            write-tests
            write-tests-2 < write-tests : done
            1 < write-tests-2
            1-2 < 1
        """,
        codes=("id_twice",),
    ),
    "words without letters of ours": Sample(
        text="# 计划\n\n- [ ] 更新设计\n- [x] データを保存\n",
        steps="""
            task-86ea7913
            task-2fc8996a < task-86ea7913 : done
        """,
    ),
    "frontmatter and a title with emphasis": Sample(
        text="---\ntitle: x\n---\n# P\n\n- [ ] **Fix** the *parser* in `src/parse.py`\n",
        steps="fix-the-parser-in-src-parse-py",
    ),
    "items behind tabs": Sample(
        name="TODO.md",
        text="# List\n\n- [ ] One\n\t- [x] an item\n\t\t- [ ] deeper\n\t- Run: `make one`\n-\t[ ] Two\n*\t[x]\tThree\n",
        steps="""
            one ! make one
            two < one
            three < two : done
        """,
    ),
}


def many(count: int) -> str:
    """A list of so many tasks."""
    return "# P\n\n" + "".join(f"- [ ] Do thing {number}\n  - detail\n" for number in range(count))
