"""Decoding source files by PEP 263 and byte order mark."""

from __future__ import annotations

import codecs

import pytest

from torchlint.text.decode import DecodeProblem, decode


def problem(data: bytes) -> DecodeProblem:
    with pytest.raises(DecodeProblem) as caught:
        decode(data)
    return caught.value


def test_utf8_without_declaration_is_read() -> None:
    assert decode("x = 'é漢'\n".encode()) == "x = 'é漢'\n"


def test_an_empty_file_is_empty() -> None:
    assert decode(b"") == ""


def test_newlines_form_feeds_and_tabs_stay_exactly() -> None:
    text = "a = 1\r\nb = 2\rc = 3\n\x0c\td = 4"
    assert decode(text.encode()) == text


def test_a_byte_order_mark_is_removed() -> None:
    assert decode(codecs.BOM_UTF8 + b"x = 1\n") == "x = 1\n"


@pytest.mark.parametrize("name", ["utf-8", "UTF8", "utf_8", "utf-8-unix", "utf-8-sig"])
def test_a_byte_order_mark_agrees_with_every_spelling_of_utf8(name: str) -> None:
    assert decode(codecs.BOM_UTF8 + f"# coding: {name}\n'é'".encode()).endswith("'é'")


@pytest.mark.parametrize("name", ["latin-1", "latin-1-unix", "iso-8859-15", "cp1252", "koi8-r", "gbk", "euc_jp"])
def test_a_declared_encoding_is_used(name: str) -> None:
    codec = name.removesuffix("-unix")
    text = f"#!/usr/bin/env python\n# -*- coding: {name} -*-\nx = 'abc'\n"
    assert decode(text.encode(codec)) == text


def test_latin1_bytes_are_read_as_latin1() -> None:
    assert decode(b"# vim: set fileencoding=latin-1 :\nx = '\xe9'\n").endswith("x = 'é'\n")


def test_a_declaration_in_the_third_line_does_not_count() -> None:
    assert decode("#\n#\n# coding: latin-1\n'é'".encode()).endswith("'é'")


def test_a_declaration_after_code_does_not_count() -> None:
    assert decode("x = 1\n# coding: latin-1\n'é'".encode()).endswith("'é'")


def test_a_declaration_after_an_old_newline_counts() -> None:
    assert decode(b"#\r# coding: latin-1\r'\xe9'").endswith("'é'")


def test_undecodable_bytes_are_reported_with_their_line() -> None:
    found = problem(b"a = 1\r\nb = 2\n\nc = '\xe9'\n")
    assert found.line == 4
    assert "0xe9 is not valid in utf-8" in found.message
    assert "coding:" in found.message


def test_bytes_outside_the_declared_encoding_are_reported() -> None:
    found = problem("# coding: ascii\nx = 'é'\n".encode())
    assert (found.line, "not valid in ascii" in found.message) == (2, True)


def test_a_nul_byte_is_reported_with_its_line() -> None:
    found = problem(b"a = 1\nb = '\0'\n")
    assert (found.line, "NUL" in found.message) == (2, True)


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-32", "utf-32-be"])
def test_wide_encodings_are_refused_with_advice(name: str) -> None:
    assert "UTF-8" in problem("x = 1\n".encode(name)).message


def test_utf16_with_a_mark_is_named() -> None:
    assert "is UTF-16" in problem("x = 1\n".encode("utf-16")).message
    assert "is UTF-32" in problem("x = 1\n".encode("utf-32")).message


def test_a_mark_that_contradicts_the_declaration_is_reported() -> None:
    found = problem(codecs.BOM_UTF8 + b"#\n# coding: latin-1\n")
    assert (found.line, "'latin-1'" in found.message) == (2, True)


def test_an_unknown_encoding_is_reported() -> None:
    found = problem(b"#!python\n# coding: klingon\n")
    assert (found.line, "unknown encoding 'klingon'" in found.message) == (2, True)


@pytest.mark.parametrize(
    "name",
    "idna punycode rot13 zlib bz2 base64 hex quopri uu unicode_escape raw_unicode_escape undefined "
    "utf-7 utf-16 cp037 aliases __init__ ....".split(),
)
def test_codecs_that_are_no_source_encoding_are_refused(name: str) -> None:
    assert "encoding" in problem(f"# coding: {name}\nx = 1\n".encode()).message
