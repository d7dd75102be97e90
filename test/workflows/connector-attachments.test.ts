import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConnectorActors } from '#test/support/sources/connector-actors.ts';
import { hasDovecot, startImapServer, type ImapServer } from '#test/support/sources/imap-server.ts';
import { mailFile, mailOf, mailParts, mailText } from '#test/support/sources/mail-parts.ts';

// Without Debian's package dovecot-imapd there is no mail server to test against.
describe.skipIf(!hasDovecot())('attachments of a mailbox in a collection', () => {
  let actors: ConnectorActors;
  let server: ImapServer;

  beforeAll(async () => {
    actors = await ConnectorActors.open();
    server = await startImapServer();
  });
  afterAll(async () => {
    await server.close();
    await actors.stop();
  });

  it('are found as documents of their own, skipped with their reason, and deleted with their message', async () => {
    const file = (name: string, content: string | Uint8Array, type = 'text/plain') =>
      mailFile(content, type, `attachment; filename="${name}"`);
    const uid = await server.append(
      'INBOX',
      mailOf(
        'Invoice',
        mailParts(
          'mixed',
          mailText('Please pay the razorbill.'),
          file('a.txt', 'The cormorant costs ten.'),
          file('b.bin', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0]), 'application/octet-stream'),
        ),
      ),
    );
    await server.append(
      'INBOX',
      mailOf('Staying', mailParts('mixed', mailText('dunlin'), file('c.txt', 'knot'))),
    );
    const { space, sync } = await actors.connectTo(server);
    expect(await sync()).toMatchObject({ added: 4, skipped: 1, failed: 0 });
    expect(await space.contents()).toEqual({
      'INBOX/Invoice.eml': expect.stringContaining('Please pay the razorbill.') as unknown,
      'INBOX/Invoice/a.txt': 'The cormorant costs ten.',
      'INBOX/Staying.eml': expect.stringContaining('dunlin') as unknown,
      'INBOX/Staying/c.txt': 'knot',
    });
    expect(await space.find('cormorant')).toEqual(['The cormorant costs ten.']);
    expect((await space.runs())[0]?.errors).toMatchObject([{ code: 'unsupported_format' }]);

    expect(await sync()).toMatchObject({ added: 0, updated: 0, deleted: 0, skipped: 0, bytes: 0 });
    await server.command(async (client) => {
      await client.mailboxOpen('INBOX');
      await client.messageDelete(String(uid), { uid: true });
    });
    expect(await sync()).toMatchObject({ status: 'completed', deleted: 2 });
    expect(Object.keys(await space.contents())).toEqual(['INBOX/Staying.eml', 'INBOX/Staying/c.txt']);
    const { rows } = await actors.world.admin.query<{ n: number }>(
      'select count(*)::int as n from source_documents where tenant_id = $1',
      [space.fixture.tenantId],
    );
    expect(rows).toEqual([{ n: 2 }]);
  });

  it('appear with the next run of a connector that has read messages with their attachments before', async () => {
    const { space, sync } = await actors.connectTo(server);
    await sync();
    const attachments = `tenant_id = $1 and ref like '%SECTION%'`;
    const { tenantId } = space.fixture;
    // As an earlier version has left it.
    for (const statement of [
      `delete from documents where id in (select document_id from source_documents where ${attachments})`,
      `delete from source_documents where ${attachments}`,
      `update source_documents set version = 'immutable', content_hash = 'other' where tenant_id = $1`,
      `update connectors set checkpoint = (checkpoint::jsonb - 'form')::text where tenant_id = $1`,
    ]) {
      await actors.world.admin.query(statement, [tenantId]);
    }
    expect(await sync()).toMatchObject({ status: 'completed', added: 1, updated: 1, deleted: 0 });
    expect(await space.find('knot')).toEqual(['knot']);
  });
});
