"""What foreign text is put together from: what its readers look for and what may trip them up."""


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES = (
    *_split("Llama 8x7B 70B 1.5b Q4_K_M IQ1_S BF16 v0.3 Instruct 00001 of 00002 .gguf - -- . _ /"),
    *_split("hf:// ollama:// @ : ? # %2e .. mmproj LoRA vocab"),
    *("\u0130", "\u2167", "\ud800", "\x00", "９", "²", "A" * 300),
)
TEMPLATES = (
    *_split("{{ }} {% %} {# #} endfor if endif elif m.role m['content'] endmacro f(1) | tojson"),
    *_split("join __class__ ~ + * '__cl' 'ass__' [::-1] 9**9 range(9) loop.index namespace()"),
    *_split("raise_exception('x') generation endgeneration \" ' http://a.example/x and not ( )"),
    *_split("[ ] , strftime_now('%Y') 0x 1e999 attr('x')"),
    *("for m in messages", "set x = ", "macro f(a)", "is defined", "include 'x'"),
    *("import 'x' as y", "- ", " ", "\n", "\\", "\u202e", "A" * 200),
)
HEADERS = (
    *_split("Content-Range Content-Length Content-Encoding Content-Digest Content-MD5 Digest"),
    *_split("ETag Last-Modified Retry-After RateLimit Repr-Digest X-Error-Code X-Repo-Commit"),
    *_split("X-Linked-Etag X-Linked-Size x-goog-hash x-goog-generation x-ms-blob-content-md5"),
    *_split("x-amz-checksum-sha256 x-amz-checksum-crc32 x-amz-version-id"),
)
HEADER_VALUES = (
    *_split('bytes 0- 99 / * 100 -1 " W/ , sha256: sha-256=: md5= crc32c= == : ; t= r=0 gzip'),
    *_split("identity GatedRepo null"),
    *("bytes ", "9" * 30, "a" * 64, "²", "\ud800", "\xff", " ", "\t"),
    *("Wed, 21 Oct 2099 07:28:00 GMT", "Wed, 99 Foo 0000 99:99:99"),
)
