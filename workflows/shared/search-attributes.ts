import { defineSearchAttributeKey } from '@temporalio/common';

/** What operators filter by. Never encrypted: ids only. */
export const tenantIdAttribute = defineSearchAttributeKey('TenantId', 'KEYWORD');
export const spaceIdAttribute = defineSearchAttributeKey('SpaceId', 'KEYWORD');
