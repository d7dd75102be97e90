import type { ToolServerGateway } from '#domain/capabilities/tools/tool-server.ts';

/** Tool servers of which only calls matter: they list nothing. */
export function calledServer(call: ToolServerGateway['call']): ToolServerGateway {
  return {
    prepare: () => Promise.resolve(undefined),
    endSession: () => Promise.resolve(),
    discover: () => Promise.resolve({ tools: [], connectionId: null }),
    call,
  };
}
