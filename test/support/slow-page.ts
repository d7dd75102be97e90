/** HTML of 1 MB of which the search for the main part takes more than ten seconds. */
export const slowPage = `${'<div>'.repeat(120)}x${'</div>'.repeat(120)}`.repeat(790);
