import { createRequire } from 'node:module';
import type { WorkflowHandle } from '@temporalio/client';

/** What the client fetches and a replay takes. */
export type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

interface MessageType {
  fromObject(value: object): object;
}

interface ProtoJson {
  toJson(type: MessageType, message: object): unknown;
  fromJson(type: MessageType, json: unknown): History;
}

/**
 * The SDK's own `historyToJSON` works with one copy of protobufjs alone: it asks a type that stems from the copy
 * below `@temporalio/proto` whether it is one of its own copy's. So both are taken from the same place here.
 */
const common = createRequire(import.meta.resolve('@temporalio/common'));
const proto = createRequire(common.resolve('@temporalio/proto'));
const protoJson = proto('protobufjs/ext/protojson') as ProtoJson;
const root = common('@temporalio/proto') as { lookupType(name: string): MessageType };
const historyType = root.lookupType('temporal.api.history.v1.History');

/** The proto's JSON form, as other tools of Temporal write and read it. */
export function historyToJson(history: History): { events: unknown[] } {
  return protoJson.toJson(historyType, historyType.fromObject(history)) as { events: unknown[] };
}

export function historyFromJson(json: unknown): History {
  return protoJson.fromJson(historyType, json);
}
