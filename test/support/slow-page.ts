/** HTML of which the search for the main part takes more than ten seconds. */
export const slowPage = `${'<div>'.repeat(50)}x${'</div>'.repeat(50)}`.repeat(1_000);
