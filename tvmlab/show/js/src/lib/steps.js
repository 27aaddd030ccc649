// Which passes are shown, and which of them is beside which.

/** Positions of the steps to show: those whose name has `search` in it; of unchanged ones the stages, and the one looked at. */
export function visibleSteps(steps, search, withUnchanged, position) {
  const wanted = search.trim().toLowerCase();
  const fits = ({ name }) => name.toLowerCase().includes(wanted);
  const matters = (key) => steps[key].changed || steps[key].level === 0 || key === position;
  return [...steps.keys()].filter((key) => fits(steps[key]) && (withUnchanged || matters(key)));
}

/** The next shown position in a direction, also from one that is not shown; null at the end. */
export function neighbour(keys, position, by) {
  const beyond = keys.filter((key) => (by > 0 ? key > position : key < position));
  return (by > 0 ? beyond[0] : beyond.at(-1)) ?? null;
}
