/** Who can sign in at the demo's provider: nobody real, and without a password. */
export const demoUsers = [
  { sub: 'demo-alex', name: 'Alex of the demo', email: 'alex@example.com' },
  { sub: 'demo-sam', name: 'Sam of the demo', email: 'sam@example.com' },
] as const;

export const demoClientId = 'platform-demo';

/** As the platform's database has it. Fixed, since the provider knows our callback by it. */
export const demoProviderId = '00000000-0000-7000-8000-00000000de32';
