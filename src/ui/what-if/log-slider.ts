/** Steps over the whole of a slider where no two of them round to the same value. */
const STEPS = 200;

/**
 * Values that a slider stops at, ascending, on a logarithmic scale, as one slider goes over magnitudes; each rounded to two or three digits so
 * that it can be read and met again. No two are the same: every press of an arrow key changes something.
 *
 * @param whole - the values are counts
 */
export function sliderStops(min: number, max: number, whole: boolean): readonly number[] {
  const values = Array.from({ length: STEPS + 1 }, (_, step) => rounded(min * (max / min) ** (step / STEPS), whole));
  return [...new Set(values)];
}

function rounded(value: number, whole: boolean): number {
  if (whole) return value < 100 ? Math.round(value) : Number(value.toPrecision(2));
  return Number(value.toPrecision(value < 10 ? 2 : 3));
}

/** Place of the stop that is nearest to a value above 0, by their ratio; values outside are at the ends. */
export function placeOf(value: number, stops: readonly number[]): number {
  const distance = (place: number): number => Math.abs(Math.log(stops[place]! / value));
  let nearest = 0;
  for (let place = 1; place < stops.length; place += 1) if (distance(place) < distance(nearest)) nearest = place;
  return nearest;
}
