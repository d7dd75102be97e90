import { afterEach, describe, expect, it } from 'vitest';
import { sharepointProvider } from '#adapters/sources/sharepoint/provider.ts';
import { listAll } from '../../support/sources/open-source.ts';
import {
  openSharepoint,
  startSharepoint,
  type SharepointServer,
} from '../../support/sources/sharepoint-server.ts';
import { describeSource } from '../../support/sources/source-contract.ts';
import { SourceModel } from '../../support/sources/source-model.ts';

describeSource('files of SharePoint', {
  provider: sharepointProvider,
  start: startSharepoint,
  nameIn: (listed) => listed.replace(/^Documents\//, ''),
  narrower: () => ({ exclude: ['drafts/'] }),
  pageSize: 200,
});

const brief = () => AbortSignal.timeout(20_000);

let server: SharepointServer;
afterEach(() => server?.close());
const open = (scope: object = {}) => openSharepoint(server, scope);
const namesOf = async (scope: object = {}) =>
  (await listAll(await open(scope))).documents.map(({ name }) => name).sort();
const read = async (ref: string, maxBytes = 10_000) =>
  (await open()).fetch({ ref, version: null, mediaType: null, maxBytes }, brief());
const first = async () => (await open()).list({ cursor: null, checkpoint: null }, brief());

describe('libraries of SharePoint', () => {
  it('lists a file with its folders, its version and where it is opened', async () => {
    server = await startSharepoint();
    const { id, modified } = server.drive.put('Handbook/Travel/plan.md', '# Plan');
    const { documents } = await listAll(await open());
    expect(documents).toEqual([
      {
        ref: `${server.drive.id}/${id}`,
        name: 'Documents/Handbook/Travel/plan.md',
        version: `S+Ah5MUXc91h7NEONzZmwePLBHQ= 6 ${modified.toISOString()}`,
        byteSize: 6,
        mediaType: 'text/markdown',
        url: 'https://contoso.sharepoint.com/sites/team/plan.md',
      },
    ]);
  });

  it('asks for no members that are not needed, such as addresses with access to a content', async () => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha');
    const asked: string[] = [];
    server.interfere((request) => {
      asked.push(decodeURIComponent(request.url ?? ''));
      return false;
    });
    await read((await first()).documents[0]!.ref);
    const fields = asked.flatMap((url) => /\$select=([^&]*)/.exec(url)?.[1]?.split(',') ?? []);
    expect(fields).toContain('deleted');
    expect(fields.filter((name) => name.startsWith('@'))).toEqual([]);
    expect(asked.filter((url) => !url.includes('$select') && !url.endsWith('/content'))).toEqual([]);
  });

  it('reads every library of a site, over pages of libraries, or those that the scope names', async () => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha');
    for (const name of ['Pläne', 'Empty', 'Archive']) server.addLibrary(name.normalize('NFD'));
    server.drives[1]!.put('a.md', 'beta');
    server.drives[3]!.put('old/a.md', 'gamma');
    const all = ['Archive/old/a.md', 'Documents/a.md', 'Pläne/a.md'];
    expect((await namesOf()).map((name) => name.normalize('NFC'))).toEqual(all);
    expect((await namesOf({ libraries: ['Pläne'] })).map((name) => name.normalize('NFC'))).toEqual([all[2]]);
    expect(await namesOf({ site_url: 'https://contoso.sharepoint.com/' })).toHaveLength(3);
    const { api_url } = server.scopeConfig;
    const ids = [server.drives[3]!.id, server.drive.id];
    expect(await namesOf({ api_url, site_url: undefined, drive_ids: ids })).toEqual(all.slice(0, 2));
  });

  it.each([
    ['a library that is not there', { libraries: ['Documents', 'None'] }],
    ['a site that is not there', { site_url: 'https://contoso.sharepoint.com/sites/none' }],
    ['a drive that is not there', { site_url: undefined, drive_ids: ['b!none'] }],
  ])('says of %s that the scope is wrong', async (_, scope) => {
    server = await startSharepoint();
    const source = await open(scope);
    await expect(source.check(brief())).rejects.toMatchObject({ code: 'scope_invalid' });
    await expect(source.list({ cursor: null, checkpoint: null }, brief())).rejects.toMatchObject({
      code: 'scope_invalid',
    });
  });

  it('refuses a site with more libraries than one listing can hold, and with none', async () => {
    server = await startSharepoint();
    for (let at = 1; at < 20; at += 1) server.addLibrary(`Library ${at}`).put('a.md', `text ${at}`);
    expect(await namesOf()).toHaveLength(19);
    server.addLibrary('One more');
    await expect(first()).rejects.toMatchObject({ code: 'scope_invalid' });
    expect(await namesOf({ libraries: ['Library 7'] })).toEqual(['Library 7/a.md']);
    server.drives.length = 0;
    await expect(first()).rejects.toMatchObject({ code: 'scope_invalid' });
  });

  it('lists everything again when a library was added, renamed or taken away', async () => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha');
    const model = new SourceModel();
    await model.sync(await open());
    const added = server.addLibrary('More');
    added.put('b.md', 'beta');
    expect(await model.sync(await open())).toMatchObject({ scope: 'everything' });
    expect(await model.sync(await open())).toMatchObject({ scope: 'changes', documents: [] });
    added.name = 'Renamed';
    await model.sync(await open());
    expect(model.contents().map(([name]) => name)).toEqual(['Documents/a.md', 'Renamed/b.md']);
    server.drives.pop();
    await model.sync(await open());
    expect(model.contents().map(([name]) => name)).toEqual(['Documents/a.md']);
    expect(model.fetched).toBe(2);
  });

  it('deletes nothing of a library that the site does not list for one run', async () => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha');
    const other = server.addLibrary('Other');
    const ref = `${other.id}/${other.put('b.md', 'beta').id}`;
    server.unlisted.add(other.id);
    const exists = async (scope: object = {}) => (await open(scope)).exists(ref, brief());
    expect(await namesOf()).toEqual(['Documents/a.md']);
    await expect(exists()).rejects.toMatchObject({ code: 'source_unreachable' });
    await expect(read(ref)).rejects.toMatchObject({ code: 'source_unreachable' });
    expect(await exists({ libraries: ['Documents'] })).toBe(false);
    expect(await exists({ site_url: undefined, drive_ids: [server.drive.id] })).toBe(false);
    server.drives.pop();
    expect(await exists()).toBe(false);
  });

  it.each([
    ['is not shown any more, which is no refusal of the credential', 403, 'accessDenied'],
    ['was deleted', 400, 'invalidRequest'],
  ])('takes a library as gone that %s', async (_, status, code) => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha');
    server.interfere((request, response) => {
      if (!request.url?.includes('/drives/b!elsewhere')) return false;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { code } }));
      return true;
    });
    expect(await (await open()).exists('b!elsewhere/01X', brief())).toBe(false);
  });

  it.each([
    ['another site', { siteId: '11111111-1370-44e7-a1f5-426573fda80a' }, false],
    ['a site that is not named', null, null],
  ])('takes a library of %s as one of the scope, or not', async (_, sharePointIds, exists) => {
    server = await startSharepoint();
    server.interfere((request, response) => {
      if (!request.url?.includes('/drives/b!elsewhere')) return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: 'b!elsewhere', sharePointIds }));
      return true;
    });
    const asked = (await open()).exists('b!elsewhere/01X', brief());
    await (exists === null
      ? expect(asked).rejects.toMatchObject({ code: 'source_unreachable' })
      : expect(asked).resolves.toBe(exists));
  });

  it('takes a site or drives, not both and not none', () => {
    const takes = (scope: object) => sharepointProvider.scope.safeParse(scope).success;
    const [site_url, drive_ids] = ['https://contoso.sharepoint.com', ['b!x']];
    expect([takes({ site_url }), takes({ drive_ids })]).toEqual([true, true]);
    expect([takes({}), takes({ site_url, drive_ids })]).toEqual([false, false]);
    expect([takes({ drive_ids: ['../me'] }), takes({ drive_ids, libraries: ['a'] })]).toEqual([false, false]);
  });

  it('leaves out what is no file, and what the service found to be malware', async () => {
    server = await startSharepoint();
    server.drive.folder('folder');
    server.drive.put('notes.one', '', { file: undefined, package: { type: 'oneNote' } });
    server.drive.put('elsewhere.md', '', { remoteItem: { id: '01OTHER' } });
    const bad = server.drive.put('bad.md', 'x', { malware: { description: 'found' } });
    server.drive.put('good.md', 'x');
    expect(await namesOf()).toEqual(['Documents/good.md']);
    expect(await (await open()).exists(`${server.drive.id}/${bad.id}`, brief())).toBe(false);
  });

  it('reads what patterns name, and deletes what is moved out of them', async () => {
    server = await startSharepoint();
    for (const name of ['Handbook/a.md', 'Handbook/Drafts/b.md', 'Handbook/c.txt', 'Other/d.md'])
      await server.put(name, name);
    const scope = { include: ['Handbook/**/*.md'], exclude: ['Handbook/Drafts/'] };
    const model = new SourceModel();
    await model.sync(await open(scope));
    expect(model.contents().map(([name]) => name)).toEqual(['Documents/Handbook/a.md']);
    const [ref] = model.copies.keys();
    await server.move('Handbook/a.md', 'Handbook/Drafts/a.md');
    expect(await model.sync(await open(scope))).toMatchObject({ scope: 'changes', gone: [ref] });
    expect(model.copies.size).toBe(0);
    const source = await open(scope);
    expect(await source.exists(ref!, brief())).toBe(false);
    expect(await source.fetch({ ref: ref!, version: null, mediaType: null, maxBytes: 9 }, brief())).toEqual({
      kind: 'gone',
    });
  });

  it('takes references that no version has made as unknown', async () => {
    server = await startSharepoint();
    const source = await open();
    for (const ref of ['', 'x', `${server.drive.id}/..`, `${server.drive.id}/a/b`, '\ud800/x', 'b!other/01X'])
      expect(await source.exists(ref, brief())).toBe(false);
  });
});

describe('an account of Microsoft Entra ID', () => {
  const presetOf = (scope: object) =>
    sharepointProvider.connection!.authorization(
      sharepointProvider.scope.parse({ site_url: 'https://contoso.sharepoint.com/sites/team', ...scope }),
    );

  it('is connected at the authorization server of its tenant and cloud', () => {
    expect(presetOf({})).toEqual({
      issuer: 'https://login.microsoftonline.com/organizations/v2.0',
      authorizationUrl: 'https://login.microsoftonline.com/organizations/oauth2/v2.0/authorize',
      tokenUrl: 'https://login.microsoftonline.com/organizations/oauth2/v2.0/token',
      revocationUrl: null,
      scope:
        'https://graph.microsoft.com/Sites.Read.All https://graph.microsoft.com/Files.Read.All offline_access',
      parameters: {},
      clientAuthentication: 'client_secret_post',
    });
    expect(presetOf({ api_url: 'https://graph.microsoft.us/v1.0', tenant: 'contoso.us' })).toMatchObject({
      tokenUrl: 'https://login.microsoftonline.us/contoso.us/oauth2/v2.0/token',
      scope:
        'https://graph.microsoft.us/Sites.Read.All https://graph.microsoft.us/Files.Read.All offline_access',
    });
    expect(presetOf({ api_url: 'https://graph.example.org/v1.0' })).toMatchObject({
      tokenUrl: 'https://graph.example.org/organizations/oauth2/v2.0/token',
    });
    expect(() => presetOf({ tenant: '../x' })).toThrow();
  });
});
