// The groups after some of the decisions, and where their boxes are.

/** For each node the number of its group's last node, after the first `count` turns; `start` holds the groups before. */
export function sinksAfter(start, turns, count) {
  const groupOf = new Map();
  for (const nodes of start) {
    const group = { nodes: [...nodes] };
    for (const node of nodes) groupOf.set(node, group);
  }
  for (const [, node, into, inner, rule] of turns.slice(0, count)) {
    if (rule !== "MERGED") continue;
    const target = groupOf.get(into);
    for (const member of [node, ...inner]) {
      const taken = groupOf.get(member);
      if (taken === target) continue;
      target.nodes.push(...taken.nodes);
      for (const each of taken.nodes) groupOf.set(each, target);
    }
  }
  const sinks = new Map();
  for (const [node, { nodes }] of groupOf) sinks.set(node, Math.max(...nodes));
  return sinks;
}

/** A box around tiles that are one group; none around one alone. */
export function boxAround(tiles) {
  if (tiles.length < 2) return null;
  const left = Math.min(...tiles.map((tile) => tile.x - tile.width / 2)) - 7;
  const top = Math.min(...tiles.map((tile) => tile.y)) - 17;
  return {
    x: left,
    y: top,
    width: Math.max(...tiles.map((tile) => tile.x + tile.width / 2)) + 7 - left,
    height: Math.max(...tiles.map((tile) => tile.y)) + 17 - top,
  };
}
