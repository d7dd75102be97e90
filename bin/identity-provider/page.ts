const style =
  'body{font:16px/1.5 system-ui;max-width:28rem;margin:4rem auto;padding:0 1rem}button{display:block;width:100%;padding:.75rem;margin:.5rem 0;font:inherit;text-align:left}';

/** One button for each of them. */
export function loginPage(users: readonly { sub: string; name: string; email: string }[]): string {
  const buttons = users.map(
    ({ sub, name, email }) =>
      `<button name="user" value="${sub}">${name}<br><small>${email}</small></button>`,
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Demo sign-in</title><style>${style}</style></head><body><h1>Sign in to the demo</h1><p>This identity provider is part of the demo: nobody here is real, and nobody has a password.</p><form method="post">${buttons.join('')}</form></body></html>`;
}
