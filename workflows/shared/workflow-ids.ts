/** Workflows are actors, addressed by kind, tenant and id. */
export const workflowIds = {
  response: (tenantId: string, responseId: string) => `response/${tenantId}/${responseId}`,
  document: (tenantId: string, documentId: string) => `document/${tenantId}/${documentId}`,
} as const;
