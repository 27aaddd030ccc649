"""Make tvmlab/course/networks.json anew, after a change of the clean-up or of TVM."""

from __future__ import annotations

import json
from pathlib import Path

from tvmlab.course import networks


def main() -> None:
    rows = {name: networks.to_data(networks.graph_of_network(name)) for name in networks.NETWORKS}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}" for name, row in rows.items())
    file = Path(networks.__file__).with_suffix(".json")
    file.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
