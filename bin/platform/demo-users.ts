/** Users of the demo's provider: invented, and without a password. */
export const demoUsers = [
  { sub: 'demo-alex', name: 'Alex of the demo', email: 'alex@example.com' },
  { sub: 'demo-sam', name: 'Sam of the demo', email: 'sam@example.com' },
] as const;

export const demoClientId = 'platform-demo';

/** As in the platform's database. Fixed, because the provider has our callback registered with it. */
export const demoProviderId = '00000000-0000-7000-8000-00000000de32';
