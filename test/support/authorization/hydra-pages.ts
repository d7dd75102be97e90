import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Sign-in and consent, which Hydra leaves to others: `ada` signs in and grants what is asked for, without a page. */
export async function startHydraPages(admin: string): Promise<{ origin: string; stop(): Promise<void> }> {
  const requests = `${admin}/admin/oauth2/auth/requests`;

  async function accept(kind: 'login' | 'consent', challenge: string): Promise<string> {
    const query = `${kind}_challenge=${encodeURIComponent(challenge)}`;
    const accepted =
      kind === 'login'
        ? { subject: 'ada', remember: false }
        : { grant_scope: await askedScopes(`${requests}/consent?${query}`), remember: false };
    const { redirect_to } = await json<{ redirect_to: string }>(`${requests}/${kind}/accept?${query}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(accepted),
    });
    return redirect_to;
  }

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://127.0.0.1');
    const kind = pathname === '/login' ? 'login' : 'consent';
    accept(kind, searchParams.get(`${kind}_challenge`) ?? '').then(
      (location) => response.writeHead(302, { location }).end(),
      (error: unknown) => response.writeHead(502).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function askedScopes(url: string): Promise<string[]> {
  return (await json<{ requested_scope: string[] }>(url)).requested_scope;
}

async function json<T>(url: string, init?: RequestInit): Promise<T> {
  const answer = await fetch(url, init);
  if (!answer.ok) throw new Error(`Hydra answers ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as T;
}
