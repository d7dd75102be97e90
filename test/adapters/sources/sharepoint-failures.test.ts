import { afterEach, describe, expect, it } from 'vitest';
import { sharepointProvider } from '#adapters/sources/sharepoint/provider.ts';
import { startHttpFake } from '../../support/sources/http-fake.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import {
  answerChanges,
  openSharepoint,
  startSharepoint,
  type SharepointServer,
} from '../../support/sources/sharepoint-server.ts';

const brief = () => AbortSignal.timeout(20_000);

let server: SharepointServer;
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
  await server?.close();
});
const open = (scope: object = {}) => openSharepoint(server, scope);
const read = async (ref: string, maxBytes = 10_000) =>
  (await open()).fetch({ ref, version: null, mediaType: null, maxBytes }, brief());
const first = async () => (await open()).list({ cursor: null, checkpoint: null }, brief());
const answerDelta = (body: object) => answerChanges(server, body);

describe('the credential of SharePoint', () => {
  /** A host that is none of the service's. */
  const startStranger = async () => {
    const headers: Headers[] = [];
    const stranger = await startHttpFake((request) => {
      headers.push(request.headers);
      return Response.json({ value: [] });
    });
    stops.push(() => stranger.stop());
    return { ...stranger, headers };
  };

  it('does not go to the host that stores a content', async () => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha');
    const [a] = (await first()).documents;
    expect(await read(a!.ref)).toEqual({
      kind: 'content',
      content: Buffer.from('alpha'),
      mediaType: 'text/markdown',
      version: a!.version,
    });
    expect(server.downloads).toHaveLength(1);
    expect(server.downloads[0]!.has('authorization')).toBe(false);
  });

  it.each(['@odata.nextLink', '@odata.deltaLink'])('does not follow %s to another origin', async (member) => {
    server = await startSharepoint();
    const stranger = await startStranger();
    const allowed = [...server.allowedOrigins, stranger.origin];
    const { host } = new URL(server.origin);
    for (const link of [
      `${stranger.origin}/v1.0/drives/${server.drive.id}/root/delta?token=x`,
      `http://${host}@${new URL(stranger.origin).host}/v1.0/drives/x/root/delta`,
      `http://user:secret@${host}/v1.0/drives/x/root/delta`,
      `${server.origin}/v1.0/../beta/me`,
      `${server.origin}/v1.0%2f../me`,
      `${server.origin}/v1.01/me`,
      `//${new URL(stranger.origin).host}/v1.0/x`,
      'javascript:alert(1)',
    ]) {
      answerDelta({ value: [], [member]: link });
      const source = await openSharepoint(server, {}, allowed);
      await expect(source.list({ cursor: null, checkpoint: null }, brief()), link).rejects.toMatchObject({
        code: 'source_invalid',
      });
    }
    expect(stranger.headers).toEqual([]);
  });

  it('does not follow pages of libraries to another origin', async () => {
    server = await startSharepoint();
    const stranger = await startStranger();
    server.interfere((request, response) => {
      if (!request.url?.includes('/drives?')) return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ value: [], '@odata.nextLink': `${stranger.origin}/v1.0/sites/x/drives` }),
      );
      return true;
    });
    const allowed = [...server.allowedOrigins, stranger.origin];
    const source = await openSharepoint(server, {}, allowed);
    await expect(source.check(brief())).rejects.toMatchObject({ code: 'source_invalid' });
    expect(stranger.headers).toEqual([]);
  });

  it('is a token for the client of an app, too', async () => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha');
    const value = {
      kind: 'oauth2_client' as const,
      client_id: 'app',
      client_secret: 'secret',
      token_url: 'https://login.microsoftonline.com/contoso.onmicrosoft.com/oauth2/v2.0/token',
      scope: 'https://graph.microsoft.com/.default',
    };
    const target = { ...server, credential: { origin: server.origin, value } };
    const source = await openSource(sharepointProvider, target, 'first-token');
    expect((await listAll(source)).documents).toHaveLength(1);
    const refused = await openSource(sharepointProvider, target, 'another');
    await expect(refused.check(brief())).rejects.toMatchObject({ code: 'auth_failed' });
  });
});

describe('refusals of SharePoint', () => {
  /** Answers requests for a content, at the service or at the host that stores it. */
  const refuse = (at: 'service' | 'files', status: number, headers: Record<string, string> = {}) =>
    (at === 'files' ? server.files : server).interfere((request, response) => {
      if (at === 'service' && !request.url?.endsWith('/content')) return false;
      response.writeHead(status, headers).end('no');
      return true;
    });
  const begin = async () => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha');
    return (await first()).documents[0]!.ref;
  };

  it.each([401, 403, 404, 410])(
    'takes %i of the host of a content as a failure of that file alone',
    async (status) => {
      const ref = await begin();
      refuse('files', status);
      await expect(read(ref)).rejects.toMatchObject({ code: 'source_unreachable' });
    },
  );

  it.each([
    ['files', 429],
    ['files', 503],
    ['service', 429],
    ['service', 509],
  ] as const)('waits when %s answers %i', async (at, status) => {
    const ref = await begin();
    refuse(at, status, { 'retry-after': '9' });
    await expect(read(ref)).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 9_000 });
  });

  it('skips a file whose content alone is refused for this run, and says so of a refused credential', async () => {
    const ref = await begin();
    server.refused.add(ref.split('/')[1]!);
    expect(await read(ref)).toEqual({ kind: 'skipped', code: 'forbidden_by_source' });
    refuse('service', 401);
    await expect(read(ref)).rejects.toMatchObject({ code: 'auth_failed' });
  });

  it('says of a content that went away in the meantime that it is gone', async () => {
    const ref = await begin();
    refuse('service', 404);
    expect(await read(ref)).toEqual({ kind: 'gone' });
  });

  /** Answers every request below a path with a refusal. */
  const answerDenied = (path: RegExp, status: number, code: string, headers: Record<string, string> = {}) =>
    server.interfere((request, response) => {
      if (!path.test(decodeURIComponent(request.url ?? ''))) return false;
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ error: { code, message: 'no', innerError: {} } }));
      return true;
    });

  it.each([
    ['a drive', /\/drives\/[^?]*\/(items|root)/, 403, 'accessDenied', {}],
    ['claims that the token lacks', /\/items\//, 403, 'insufficient_claims', {}],
    ['a token', /\/items\//, 403, 'InvalidAuthenticationToken', {}],
    [
      'claims, in a header',
      /\/items\//,
      403,
      'accessDenied',
      { 'www-authenticate': 'Bearer realm="", error="insufficient_claims", claims="e30="' },
    ],
  ] as const)('does not take the refusal of %s as a deletion', async (_, path, status, code, headers) => {
    const ref = await begin();
    const source = await open();
    await source.check(brief());
    answerDenied(path, status, code, headers);
    const refused = { code: 'auth_failed' };
    await expect(source.exists(ref, brief())).rejects.toMatchObject(refused);
    await expect(read(ref)).rejects.toMatchObject(refused);
  });

  it('does not take files as gone while their drive is not there', async () => {
    const ref = await begin();
    answerDenied(/\/(items|root)/, 404, 'itemNotFound');
    await expect((await open()).exists(ref, brief())).rejects.toMatchObject({ code: 'scope_invalid' });
  });

  it.each([
    ['insufficient_claims', /\/content$/],
    ['accessDenied', /\/content$|\/root\?/],
  ])('does not skip a file for a refused credential, with %s', async (code, path) => {
    const ref = await begin();
    answerDenied(path, 403, code);
    await expect(read(ref)).rejects.toMatchObject({ code: 'auth_failed' });
  });

  it('does not end a listing whose folders a refused credential does not show', async () => {
    await begin();
    server.drive.put('folder/b.md', 'beta');
    const { checkpoint } = await listAll(await open());
    server.drive.put('folder/b.md', 'changed');
    answerDenied(/\/items\/|\/root\?/, 403, 'accessDenied');
    const source = await open();
    await expect(source.list({ cursor: null, checkpoint }, brief())).rejects.toMatchObject({
      code: 'auth_failed',
    });
  });

  it('takes a locked site, and a spent bandwidth, as something that passes', async () => {
    server = await startSharepoint();
    server.interfere((_, response) => {
      response.writeHead(423).end();
      return true;
    });
    await expect(first()).rejects.toMatchObject({ code: 'source_unreachable' });
    server.interfere((_, response) => {
      response.writeHead(509, { 'retry-after': '120' }).end();
      return true;
    });
    await expect(first()).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 120_000 });
  });

  it('does not read a content at an address that may not be reached', async () => {
    const ref = await begin();
    for (const location of ['http://127.0.0.1:9/x', 'http://169.254.169.254/latest', 'file:///etc/passwd']) {
      refuse('service', 302, { location });
      await expect(read(ref), location).rejects.toMatchObject({
        code: location.startsWith('http') ? 'scope_invalid' : 'source_invalid',
      });
    }
  });

  it('reads no content that is longer than it was said to be', async () => {
    server = await startSharepoint();
    server.drive.put('a.md', 'x'.repeat(5_000), { size: 5 });
    const [a] = (await first()).documents;
    expect(await read(a!.ref, 4_999)).toEqual({ kind: 'skipped', code: 'too_large' });
  });

  it.each([
    ['ids that lead elsewhere', { id: '../../me' }],
    ['facets of another kind', { file: 'yes' }],
    ['hashes without end', { file: { hashes: { quickXorHash: 'x'.repeat(5_000) } } }],
  ])('refuses items with %s', async (_, more) => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha', more);
    await expect(first()).rejects.toMatchObject({ code: 'source_invalid' });
  });

  it('shows addresses of the web alone, and shortens names at their beginning', async () => {
    server = await startSharepoint();
    const folders = Array.from({ length: 40 }, () => 'folder-of-this-name').join('/');
    server.drive.put(`${folders}/a.md`, 'alpha', { webUrl: 'javascript:alert(1)' });
    const [a] = (await first()).documents;
    expect([a!.url, a!.name.length, a!.name.endsWith('/a.md')]).toEqual([null, 500, true]);
  });
});
