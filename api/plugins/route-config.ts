import type { EventType } from '#domain/foundation/events/catalogue.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * What the operation needs; `own` names what needs no grant, and stands alone where the operation is about nothing
     * else. The use case is the truth, this its declaration.
     */
    permission?: Permission;
    own?: string;
    /** Whether it may answer with server-sent events. */
    streams?: true;
    /** The media types of the file that it answers with. */
    sendsFile?: readonly string[];
    /** Why the operation needs no credential. */
    public?: string;
    /** The audit events that it writes, or why it writes none. */
    audit?: readonly EventType[] | { none: string };
  }
}
