/** A number, or a letter that stands for one: other raised text belongs to its word, as in `21st`. */
const exponent = /^\s*(?:[-+\u2212\u2013]?\d|[knx]\s*$)/;

/** What stands before raised text so that it is no further digit of a number; '' for none. */
export const raisedMark = (before: string, text: string): '^' | '' =>
  /\d$/.test(before) && exponent.test(text) ? '^' : '';
