export interface Decision {
  /** `ada` when not set. */
  account?: string;
  decision?: 'allow' | 'deny';
  /** Scopes that the person does not grant. */
  withhold?: string;
}

const maxSteps = 12;

/** Follows an authorization request as a browser would, and answers the page. @returns the callback's address */
export async function authorizeInBrowser(url: string, decision: Decision = {}): Promise<string> {
  const redirectUri = new URL(url).searchParams.get('redirect_uri') ?? '';
  const cookies = new Map<string, string>();
  let next: { url: string; form?: URLSearchParams } = { url };
  for (let step = 0; step < maxSteps; step += 1) {
    const answer = await fetch(next.url, {
      method: next.form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(next.form === undefined ? {} : { body: next.form }),
    });
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const location = answer.headers.get('location');
    if (location === null) {
      if (answer.status !== 200) {
        throw new Error(`The authorization server answers ${answer.status}: ${await answer.text()}`);
      }
      await answer.body?.cancel();
      next = { url: next.url, form: new URLSearchParams({ decision: 'allow', ...decision }) };
      continue;
    }
    await answer.body?.cancel();
    const target = new URL(location, next.url).href;
    if (target === redirectUri || target.startsWith(`${redirectUri}?`)) {
      return target;
    }
    next = { url: target };
  }
  throw new Error('The authorization request led nowhere.');
}
