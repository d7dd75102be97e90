import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { defineProvider } from '../provider.ts';
import { serverEndpoint } from '../shared/server-address.ts';
import { postgresSource } from './postgres-source.ts';
import { postgresScope } from './scope.ts';

export const postgresProvider = defineProvider({
  slug: 'postgres',
  title: 'PostgreSQL table',
  description: 'Rows of a table or view of a PostgreSQL database, each as a Markdown document.',
  beta: false,
  scope: postgresScope,
  credentialKinds: ['basic'],
  credentialRequired: true,
  detects: { changes: 'listing', deletions: 'listing', readers: true, push: false },
  endpoint: (scope) => serverEndpoint('postgres', scope),
  open: (scope, access) => {
    const { credential } = access;
    if (credential?.kind !== 'basic') {
      throw new SourceFailure('auth_failed', 'The connector needs the name and the password of a user.');
    }
    return postgresSource(scope, { connect: (target) => access.connect(target), credential });
  },
});
