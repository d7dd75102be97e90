/**
 * With what a process answers its readiness in, where INSTANCE_ID is set: only the process that has it in its environment
 * can, so that its launcher does not take another server on the port for it.
 */
export const instanceHeader = 'x-instance-id';

export function instanceHeaders(instanceId: string | undefined): Record<string, string> {
  return instanceId === undefined ? {} : { [instanceHeader]: instanceId };
}
