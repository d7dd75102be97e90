import { atlassianConnection } from '../shared/atlassian-connection.ts';
import type { ConfluenceScope } from './scope.ts';

const pages = ['read:page:confluence', 'read:space:confluence'];
const readers = [
  'read:content.metadata:confluence',
  'read:content.restriction:confluence',
  'read:content-details:confluence',
  'read:space.permission:confluence',
  'read:user:confluence',
  'read:group:confluence',
];

export const confluenceConnection = atlassianConnection<ConfluenceScope>(({ readers: readsReaders }) => [
  ...pages,
  ...(readsReaders ? readers : []),
]);
