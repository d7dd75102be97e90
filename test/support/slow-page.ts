/** HTML of which the search for the main part takes tens of seconds. */
export const slowPage = `${'<div>'.repeat(50)}x${'</div>'.repeat(50)}`.repeat(200);
