"""Write the JSON Schema of results, which is made from the types of `mase.Attribution`, into docs/schema.

python tools/schema.py
"""

import json
from pathlib import Path

from mase.attribution.json import SCHEMA, json_schema

PATH = Path(__file__).resolve().parent.parent / "docs" / "schema" / f"{SCHEMA.replace('/', '-')}.json"

if __name__ == "__main__":
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
