/**
 * A uuid in a condition, in place of `?`: the planner does not see its value, and expects as many rows as one has on
 * average. Of a value that its statistics have not seen, such as a tenant that stores its first documents, it expects a
 * single row, takes any index that begins with the column, and reads all the tenant's entries.
 */
export const averageUuid = '(select ?::uuid)';

/** The same of the transaction's tenant. */
export const averageTenant = `(select current_setting('app.tenant_id')::uuid)`;
