import { atlassianConnection } from '../shared/atlassian-connection.ts';
import type { JiraScope } from './scope.ts';

/** The account itself is read for its time zone, and to know that the service accepts the token. */
export const jiraConnection = atlassianConnection<JiraScope>(() => ['read:jira-work', 'read:jira-user']);
