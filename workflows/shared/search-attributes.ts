import { defineSearchAttributeKey } from '@temporalio/common';

/** Filters for operators. Never encrypted: ids only. */
export const tenantIdAttribute = defineSearchAttributeKey('TenantId', 'KEYWORD');
export const spaceIdAttribute = defineSearchAttributeKey('SpaceId', 'KEYWORD');
