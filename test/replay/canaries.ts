/** Words that histories must never contain, each in its own kind of content. */
export const canaries = {
  prompt: 'canary-prompt-quokka',
  instructions: 'canary-instructions-numbat',
  secret: 'canary-secret-wombat',
  answer: 'canary-answer-bilby',
  commentary: 'canary-commentary-dunnart',
  query: 'canary-query-wombat',
  document: 'canary-document-potoroo',
  filename: 'canary-filename-bettong',
  metadata: 'canary-metadata-echidna',
  tenant: 'canary-tenant-kowari',
  person: 'canary-person-quoll',
  email: 'canary-mail@wallaby.example',
  vendor: 'canary-vendor-cuscus',
  argument: 'canary-argument-galah',
} as const;

/** The canaries found in `texts`, ignoring case. */
export function foundCanaries(texts: readonly string[]): string[] {
  const all = texts.join('\n').toLowerCase();
  return Object.values(canaries).filter((canary) => all.includes(canary));
}
