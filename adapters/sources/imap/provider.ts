import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { defineProvider } from '../provider.ts';
import { serverEndpoint } from '../shared/server-address.ts';
import { imapScope } from './scope.ts';

export const imapProvider = defineProvider({
  slug: 'imap',
  title: 'Mailboxes (IMAP)',
  description: 'Messages of mailboxes of a mail server, and their attachments.',
  beta: false,
  scope: imapScope,
  credentialKinds: ['basic'],
  credentialRequired: true,
  detects: { changes: 'listing', deletions: 'source', readers: false, push: false },
  endpoint: (scope) => serverEndpoint(scope.tls === 'implicit' ? 'imaps' : 'imap', scope),
  open: async (scope, access) => {
    const { credential } = access;
    if (credential?.kind !== 'basic') {
      throw new SourceFailure('auth_failed', 'The connector needs the name and the password of a user.');
    }
    const { imapSource } = await import('./imap-source.ts');
    return imapSource(scope, { connect: (target) => access.connect(target), credential });
  },
});
