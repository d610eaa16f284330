/** Steps of a slider; values between are reached on a logarithmic scale, as one slider goes over magnitudes. */
export const SLIDER_STEPS = 200;

/** Value at a place of the slider, rounded to two or three digits so that it can be read and met again. */
export function valueAt(place: number, min: number, max: number, whole: boolean): number {
  const value = min * (max / min) ** (place / SLIDER_STEPS);
  if (whole) return value < 100 ? Math.round(value) : Number(value.toPrecision(2));
  return Number(value.toPrecision(value < 10 ? 2 : 3));
}

/** Nearest place of a value; values outside are at the ends. */
export function placeOf(value: number, min: number, max: number): number {
  const inside = Math.min(Math.max(value, min), max);
  return Math.round((Math.log(inside / min) / Math.log(max / min)) * SLIDER_STEPS);
}
