/** The reserved tenant whose principals operate the platform. A fixed id, so that there is never a second one. */
export const platformTenantId = '00000000-0000-7000-8000-000000000001';
export const platformSlug = 'platform';
