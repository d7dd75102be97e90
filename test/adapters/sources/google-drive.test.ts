import { afterEach, describe, expect, it } from 'vitest';
import { driveFailure } from '#adapters/sources/google-drive/failure.ts';
import { withoutImages } from '#adapters/sources/google-drive/images.ts';
import { googleDriveProvider } from '#adapters/sources/google-drive/provider.ts';
import { toReaders } from '#adapters/sources/google-drive/readers.ts';
import { startGoogleDrive, type GoogleDriveServer } from '../../support/sources/google-drive-server.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { describeSource } from '../../support/sources/source-contract.ts';
import { SourceModel } from '../../support/sources/source-model.ts';

describeSource('files of Google Drive', {
  provider: googleDriveProvider,
  start: startGoogleDrive,
  narrower: () => ({ shared_drive_id: 'team' }),
  pageSize: 100,
});

const brief = () => AbortSignal.timeout(20_000);

describe('Google Drive', () => {
  let server: GoogleDriveServer;
  afterEach(() => server?.close());
  const open = (scope: object = {}) =>
    openSource(googleDriveProvider, { ...server, scopeConfig: { ...server.scopeConfig, ...scope } });
  const read = async (ref: string, maxBytes = 10_000) =>
    (await open()).fetch({ ref, version: null, mediaType: null, maxBytes }, brief());

  it('exports documents, sheets and presentations, and leaves out what is no document', async () => {
    server = await startGoogleDrive();
    const type = (kind: string) => ({ mimeType: `application/vnd.google-apps.${kind}` });
    const made = {
      'text/markdown': server.add('Plan', '# Plan', type('document')),
      'text/csv': server.add('Sheet', 'a,b', type('spreadsheet')),
      'text/plain': server.add('Slides', 'slide', type('presentation')),
    };
    for (const kind of ['folder', 'shortcut', 'form', 'map']) server.add(kind, '', type(kind));
    const { documents } = await listAll(await open());
    expect(documents.map(({ name }) => name)).toEqual(['Plan', 'Sheet', 'Slides']);
    expect(documents[0]).toEqual({
      ref: made['text/markdown'].id,
      name: 'Plan',
      version: '2/2',
      byteSize: null,
      mediaType: 'application/vnd.google-apps.document',
      url: `https://drive.example/file/d/${made['text/markdown'].id}/view`,
      readers: { addresses: ['owner@example.com'], groups: [] },
    });
    for (const [mediaType, { id }] of Object.entries(made)) {
      expect(await read(id)).toMatchObject({ kind: 'content', mediaType });
    }
  });

  it('reads a document with images as its text, also where it is too large with them', async () => {
    server = await startGoogleDrive();
    const mimeType = 'application/vnd.google-apps.document';
    const text = '# Größe\n\n![][image1]\n\nnach ![Ein Plan für 🦊][image2] dem Bild';
    const plain = server.add('Plan', text, { mimeType, images: [30, 300_000] });
    const large = server.add('Large', text, { mimeType, images: [8_000_000] });
    const far = server.add('Far', 'x'.repeat(10_000_001), { mimeType });
    const contentOf = async (id: string, maxBytes?: number) => {
      const found = await read(id, maxBytes ?? 30_000_000);
      return found.kind === 'content' ? [found.mediaType, Buffer.from(found.content).toString()] : found;
    };
    expect(await contentOf(plain.id)).toEqual([
      'text/markdown',
      '# Größe\n\n\n\nnach Ein Plan für 🦊 dem Bild\n\n\n',
    ]);
    expect(await contentOf(large.id)).toEqual(['text/plain', text]);
    expect(await contentOf(plain.id, 1_000)).toEqual(['text/plain', text]);
    expect(await contentOf(far.id)).toEqual({ kind: 'skipped', code: 'too_large' });
    server.asked.length = 0;
    const sheet = server.add('Sheet', 'x', {
      mimeType: 'application/vnd.google-apps.spreadsheet',
      refused: 'exportSizeLimitExceeded',
    });
    expect(await contentOf(sheet.id)).toEqual({ kind: 'skipped', code: 'too_large' });
    expect(server.asked.filter((path) => path.endsWith('export'))).toHaveLength(1);
  });

  it('reads a document of which an earlier version stored the images once more', async () => {
    server = await startGoogleDrive();
    const made = server.add('Plan', 'x', { mimeType: 'application/vnd.google-apps.document' });
    const asked = { ref: made.id, mediaType: null, maxBytes: 1_000 };
    const fetchOf = async (version: string) => (await open()).fetch({ ...asked, version }, brief());
    expect((await fetchOf(`${made.version}`)).kind).toBe('content');
    expect((await fetchOf(`${made.version}/2`)).kind).toBe('unchanged');
  });

  it('cuts a name between characters', async () => {
    server = await startGoogleDrive();
    server.add(`x${'😀'.repeat(300)}`, 'text');
    const [listed] = (await listAll(await open())).documents;
    expect(listed!.name.isWellFormed()).toBe(true);
  });

  it('lists changes after the first time, also of files that went into the trash and came back', async () => {
    server = await startGoogleDrive();
    for (let at = 0; at < 250; at += 1) server.add(`n${at}`, `text ${at}`);
    const model = new SourceModel();
    const source = await open();
    expect(await model.sync(source)).toMatchObject({ scope: 'everything', pages: 3 });
    expect(await model.sync(source)).toMatchObject({ scope: 'changes', documents: [], gone: [], pages: 1 });
    server.trash('n7');
    await server.remove('n8');
    await server.put('n9', 'changed');
    const changed = await model.sync(source);
    expect([changed.documents.length, changed.gone.length]).toEqual([1, 2]);
    const back = server.files.find(({ name }) => name === 'n7')!;
    back.trashed = false;
    server.touch(back);
    expect((await model.sync(source)).documents.map(({ ref }) => ref)).toEqual([back.id]);
    for (let at = 20; at < 240; at += 1) await server.put(`n${at}`, `changed ${at}`);
    expect(await model.sync(source)).toMatchObject({
      scope: 'changes',
      pages: 3,
      documents: { length: 220 },
    });
    expect(model.copies.size).toBe(249);
  });

  it('misses no change that happens during a listing of everything', async () => {
    server = await startGoogleDrive();
    for (let at = 0; at < 150; at += 1) server.add(`n${at}`, `text ${at}`);
    const source = await open();
    const first = await source.list({ cursor: null, checkpoint: null }, brief());
    await server.put('n3', 'changed meanwhile');
    const last = await source.list({ cursor: first.next, checkpoint: null }, brief());
    const { documents } = await listAll(source, last.checkpoint);
    expect(documents.map(({ name }) => name)).toEqual(['n3']);
  });

  it.each([400, 410] as const)('says that a token has expired which is refused with %i', async (status) => {
    server = await startGoogleDrive();
    for (let at = 0; at < 150; at += 1) server.add(`n${at}`, 'x');
    const source = await open();
    const { next } = await source.list({ cursor: null, checkpoint: null }, brief());
    const { checkpoint } = await listAll(source);
    server.expire(status);
    const expired = { name: 'SourceFailure', code: 'cursor_expired' };
    await expect(source.list({ cursor: next, checkpoint: null }, brief())).rejects.toMatchObject(expired);
    expect(await listAll(source, checkpoint)).toMatchObject({ scope: 'everything' });
    await expect(source.list({ cursor: 'other', checkpoint: null }, brief())).rejects.toMatchObject(expired);
    expect((await listAll(source)).documents).toHaveLength(150);
  });

  it('does not ask again for bytes that are known, nor for too many', async () => {
    server = await startGoogleDrive();
    server.add('a.md', 'x'.repeat(5_000));
    const source = await open();
    const [a] = (await listAll(source)).documents;
    expect(await source.fetch({ ...a!, maxBytes: 10_000 }, brief())).toEqual({ kind: 'unchanged' });
    server.asked.length = 0;
    expect(await read(a!.ref, 4_999)).toMatchObject({ code: 'too_large' });
    expect(server.asked).toHaveLength(1);
  });

  it.each([
    ['exportSizeLimitExceeded', 'too_large'],
    ['cannotDownloadFile', 'forbidden_by_source'],
    ['cannotDownloadAbusiveFile', 'forbidden_by_source'],
    ['domainPolicy', 'forbidden_by_source'],
    ['downloadQuotaExceeded', 'forbidden_by_source'],
    ['somethingNew', 'forbidden_by_source'],
  ])('skips a file that is refused with %s as %s', async (refused, code) => {
    server = await startGoogleDrive();
    const { id } = server.add('a', 'x', { mimeType: 'application/vnd.google-apps.document', refused });
    expect(await read(id)).toEqual({ kind: 'skipped', code });
  });

  it('takes a refusal of one file for no refusal of the credential, which is asked for once', async () => {
    server = await startGoogleDrive();
    const refused = { refused: 'domainPolicy', isHidden: true, driveId: 'team' };
    const files = ['a', 'b'].map((name) => server.add(name, 'x', refused));
    const source = await open({ shared_drive_id: 'team' });
    const { documents } = await listAll(source);
    expect(documents.map(({ readers }) => readers)).toEqual([
      { addresses: [], groups: [] },
      { addresses: [], groups: [] },
    ]);
    server.asked.length = 0;
    for (const each of documents) {
      expect(await source.fetch({ ...each, maxBytes: 1_000 }, brief())).toEqual({
        kind: 'skipped',
        code: 'forbidden_by_source',
      });
    }
    expect(await source.exists(files[0]!.id, brief())).toBe(true);
    expect(server.asked.filter((path) => path.endsWith('startPageToken'))).toEqual([]);
  });

  it.each(['insufficientPermissions', 'accessNotConfigured'])(
    'says that a credential must be renewed which reads no file: %s',
    async (reason) => {
      server = await startGoogleDrive();
      const { id } = server.add('a', 'x');
      server.interfere((request, response) => {
        // A token that may read the names of files alone is accepted elsewhere.
        if (reason === 'insufficientPermissions' && !request.url!.includes('alt=media')) return false;
        response.writeHead(403, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { code: 403, errors: [{ domain: 'global', reason }] } }));
        return true;
      });
      await expect(read(id)).rejects.toMatchObject({ name: 'SourceFailure', code: 'auth_failed' });
    },
  );

  it('reads a shared drive, with permissions that are asked for', async () => {
    server = await startGoogleDrive();
    const permissions = ['a', 'b', 'c'].map((name) => ({
      type: 'user',
      emailAddress: `${name}@example.com`,
    }));
    const { id } = server.add('team', 'x', { driveId: 'team', permissions });
    server.add('closed', 'x', { driveId: 'team', permissions: null });
    const own = server.add('own', 'x');
    const source = await open({ shared_drive_id: 'team' });
    const { documents } = await listAll(source);
    expect(documents.map(({ name, readers }) => [name, readers])).toEqual([
      ['team', { addresses: ['a@example.com', 'b@example.com', 'c@example.com'], groups: [] }],
      ['closed', { addresses: [], groups: [] }],
    ]);
    expect([await source.exists(id, brief()), await source.exists(own.id, brief())]).toEqual([true, false]);
    await expect((await open({ shared_drive_id: 'none' })).check(brief())).rejects.toMatchObject({
      code: 'scope_invalid',
    });
    expect((await listAll(await open({ readers: false }))).documents[0]).not.toHaveProperty('readers');
  });

  it('reads what is shared with the account, and no shared drive of which it is a member', async () => {
    server = await startGoogleDrive();
    server.add('own', 'x');
    const ofTeam = server.add('of the team', 'x', { driveId: 'team' });
    const shared = server.add('shared with me', 'x', { driveId: 'other' });
    const moved = server.add('moved', 'x');
    const model = new SourceModel();
    await model.sync(await open());
    expect(model.contents().map(([name]) => name)).toEqual(['moved', 'own', 'shared with me']);
    expect(await read(ofTeam.id)).toEqual({ kind: 'gone' });
    expect(await (await open()).exists(ofTeam.id, brief())).toBe(false);
    server.touch(ofTeam);
    await server.put('shared with me', 'changed');
    server.moveToDrive(moved, 'team');
    expect(await model.sync(await open())).toMatchObject({ scope: 'changes', gone: [moved.id] });
    expect(model.contents()).toEqual([
      ['own', 'x'],
      ['shared with me', 'changed'],
    ]);
    server.drives.add('other');
    server.changeDrive('other');
    expect(await model.sync(await open())).toMatchObject({ scope: 'everything' });
    expect(model.copies.has(shared.id)).toBe(false);
  });

  it('leaves no file of a shared drive to be read that was stored by a version before', async () => {
    server = await startGoogleDrive();
    const { id } = server.add('of the team', 'x', { driveId: 'team' });
    server.add('own', 'x');
    const model = new SourceModel();
    model.copies.set(id, { name: 'of the team', version: '2', text: 'stale' });
    const began = await fetch(`${server.origin}/drive/v3/changes/startPageToken`, {
      headers: { authorization: 'Bearer first-token' },
    });
    ({ startPageToken: model.checkpoint } = (await began.json()) as { startPageToken: string });
    const cursor = JSON.stringify([JSON.stringify([model.checkpoint, model.checkpoint]), 1, 1]);
    await expect((await open()).list({ cursor, checkpoint: null }, brief())).rejects.toMatchObject({
      code: 'cursor_expired',
    });
    expect(await model.sync(await open())).toMatchObject({ scope: 'everything', truncated: false });
    expect(model.contents()).toEqual([['own', 'x']]);
  });

  it.each([false, true])(
    'lists everything when the members of a shared drive change, late: %s',
    async (late) => {
      server = await startGoogleDrive();
      const [anna, ben] = ['anna', 'ben'].map((name) => ({
        type: 'user',
        emailAddress: `${name}@example.com`,
      }));
      const file = server.add('plan', 'x', { driveId: 'team', permissions: [anna!, ben!] });
      const source = await open({ shared_drive_id: 'team' });
      const { checkpoint } = await listAll(source);
      expect(await listAll(source, checkpoint)).toMatchObject({ scope: 'changes', documents: [] });
      for (let at = 0; at < (late ? 120 : 0); at += 1) server.add(`n${at}`, 'x', { driveId: 'team' });
      file.permissions = [anna!];
      server.changeDrive('team');
      const listing = late
        ? await listAll(source, checkpoint).catch(async (error: unknown) => {
            expect(error).toMatchObject({ code: 'cursor_expired' });
            return listAll(source);
          })
        : await listAll(source, checkpoint);
      expect(listing).toMatchObject({ scope: 'everything', documents: { length: late ? 121 : 1 } });
      expect(listing.documents[0]!.readers).toEqual({ addresses: ['anna@example.com'], groups: [] });
      expect(await listAll(source, listing.checkpoint)).toMatchObject({ scope: 'changes', documents: [] });
      server.changeDrive('team', true);
      await expect(listAll(source, listing.checkpoint)).rejects.toMatchObject({ code: 'scope_invalid' });
    },
  );

  it('lists everything after the hours of the scope, which are few where readers are read', async () => {
    server = await startGoogleDrive();
    const file = server.add('a', 'x', { permissions: [{ type: 'user', emailAddress: 'a@example.com' }] });
    const model = new SourceModel();
    await model.sync(await open());
    file.permissions = [];
    expect(await model.sync(await open())).toMatchObject({ scope: 'changes', documents: [] });
    model.checkpoint = model.checkpoint!.replace(/"whole":\d+/, `"whole":${Date.now() - 86_400_001}`);
    const whole = await model.sync(await open());
    expect([whole.scope, whole.documents[0]!.readers]).toEqual(['everything', { addresses: [], groups: [] }]);
    expect(model.fetched).toBe(1);
    expect(await model.sync(await open())).toMatchObject({ scope: 'changes' });
    model.checkpoint = model.checkpoint.replace(/"whole":\d+/, `"whole":${Date.now() + 86_400_000}`);
    expect(await model.sync(await open())).toMatchObject({ scope: 'everything' });
    expect((await listAll(await open({ relist_hours: 0 }), model.checkpoint)).scope).toBe('everything');
    expect(googleDriveProvider.scope.safeParse({ relist_hours: 25 }).error?.issues).toMatchObject([
      { path: ['relist_hours'] },
    ]);
    expect(googleDriveProvider.scope.safeParse({ relist_hours: 25, readers: false }).success).toBe(true);
  });

  it('counts an incomplete search and a cut listing as truncated', async () => {
    server = await startGoogleDrive();
    for (let at = 0; at < 3; at += 1) server.add(`n${at}`, 'x');
    const cut = { documents: { length: 2 }, truncated: true, checkpoint: null };
    expect(await listAll(await open({ max_documents: 2 }))).toMatchObject(cut);
    expect(await listAll(await open({ max_documents: 3 }))).toMatchObject({ truncated: false });
    server.interfere((request, response) => {
      if (!request.url?.startsWith('/drive/v3/files?')) return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ files: [], incompleteSearch: true }));
      return true;
    });
    expect(await listAll(await open())).toMatchObject({ truncated: true, checkpoint: null });
  });

  it('ends listings whose token repeats', async () => {
    server = await startGoogleDrive();
    server.add('a', 'x');
    const { checkpoint } = await listAll(await open());
    server.interfere((request, response) => {
      if (request.url?.includes('startPageToken?')) return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ files: [], changes: [], nextPageToken: 'again' }));
      return true;
    });
    expect(await listAll(await open())).toMatchObject({ truncated: true, pages: 2 });
    expect(await listAll(await open(), checkpoint)).toMatchObject({
      truncated: true,
      checkpoint: null,
      pages: 2,
    });
  });
});

describe('the text of a document with images', () => {
  const cut = (text: string) => withoutImages(Buffer.from(text)).toString();

  it('is what people read', () => {
    expect(cut('a ![b](data:image/svg+xml;base64,PHN2Zz4=) c')).toBe('a ![b]() c');
    expect(cut('see [image1]: <https://x.example> and data:image/png')).toBe(
      'see [image1]: <https://x.example> and data:image/png',
    );
    const binary = Buffer.from([0xff, 0xfe, 0x00, 0x80]);
    expect(withoutImages(binary)).toEqual(binary);
  });

  it('takes time in the order of the length of hostile texts', () => {
    const image = 'data:image/png;base64,';
    const parts = [
      'data:image/',
      image,
      `\n[image1]: <${image}`,
      `[image1]: <${image}A`,
      '![',
      '![a][image',
      'A',
    ];
    for (const part of parts) {
      const began = performance.now();
      cut(image + part.repeat(Math.floor(12_000_000 / part.length)));
      expect(performance.now() - began).toBeLessThan(3_000);
    }
  });
});

describe('who may read a file', () => {
  const now = Date.parse('2025-06-01T00:00:00Z');
  const readers = (permissions: Parameters<typeof toReaders>[0], linkIsPublic = false) =>
    toReaders(permissions, { linkIsPublic, now });

  it('names people, groups and domains', () => {
    expect(
      readers([
        { type: 'user', emailAddress: 'Anna@Example.com' },
        { type: 'user', emailAddress: 'gone@example.com', deleted: true },
        { type: 'user', emailAddress: 'late@example.com', expirationTime: '2025-05-01T00:00:00Z' },
        { type: 'user', emailAddress: '\u212Aarl@example.com' },
        { type: 'user', emailAddress: 'soon@example.com', expirationTime: '2025-07-01T00:00:00Z' },
        { type: 'user', emailAddress: 'published@example.com', view: 'published' },
        { type: 'group', emailAddress: 'Staff@Example.com' },
        { type: 'domain', domain: 'Example.com', allowFileDiscovery: true },
        { type: 'domain', domain: 'link.example', allowFileDiscovery: false },
      ]),
    ).toEqual({
      addresses: ['anna@example.com', '\u212Aarl@example.com', 'soon@example.com'],
      groups: ['staff@example.com'],
      domains: ['example.com'],
    });
  });

  it('takes a link for public only where the scope says so', () => {
    const link = [{ type: 'anyone', allowFileDiscovery: false }];
    expect(readers(link)).toEqual({ addresses: [], groups: [] });
    expect(readers(link, true)).toBe('public');
    expect(readers([{ type: 'anyone', allowFileDiscovery: true }])).toBe('public');
  });
});

describe('refusals of Google Drive', () => {
  const refusal = (status: number, reason: string, headers: Record<string, string> = {}) =>
    driveFailure(new Response(null, { status, headers }), { error: { errors: [{ reason }] } });

  it.each([
    ['rateLimitExceeded', {}, 60_000],
    ['userRateLimitExceeded', { 'retry-after': '9' }, 9_000],
    ['sharingRateLimitExceeded', { 'retry-after': '99999' }, 3_600_000],
  ])('%s asks for a pause', (reason, headers, retryAfterMs) => {
    expect(refusal(403, reason, headers as Record<string, string>)).toMatchObject({
      code: 'rate_limited',
      retryAfterMs,
    });
  });

  it('tells a spent day from a missing permission', () => {
    expect(refusal(403, 'dailyLimitExceeded')?.code).toBe('quota_exceeded');
    expect(refusal(403, 'insufficientPermissions')).toBeNull();
    expect(refusal(403, 'accessNotConfigured')).toBeNull();
    expect(refusal(401, 'authError')).toBeNull();
    expect(driveFailure(new Response(null, { status: 403 }), 'no body')).toBeNull();
  });
});
