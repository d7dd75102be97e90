/** Items that the server creates and stores: sent back, they refer to the stored items. */
const kept = new Set(['file_search_call', 'mcp_call', 'mcp_list_tools', 'mcp_approval_request']);

/** Requested by clients that store reasoning themselves. Reasoning is stored here and found by its item's id. */
const encryptedReasoning = 'reasoning.encrypted_content';

/**
 * Removes from a body those values of OpenAI's clients that mean the same as their absence, so that the rest can be
 * validated against the schema: nulls for omitted members, and items of an earlier answer sent back whole. Values of an
 * unexpected shape stay, and are refused by validation.
 */
export function normalizeBody(body: unknown): unknown {
  if (!isRecord(body)) {
    return body;
  }
  const { input, tools, text, include } = body;
  return {
    ...body,
    ...(Array.isArray(input) ? { input: input.map(normalizeItem) } : {}),
    ...(Array.isArray(tools) ? { tools: tools.map(normalizeTool) } : {}),
    ...(isRecord(text) ? { text: normalizeText(text) } : {}),
    ...(Array.isArray(include) ? { include: include.filter((name) => name !== encryptedReasoning) } : {}),
  };
}

/** Hints on deferred loading, callers and output of a tool: without effect here. */
const toolHints = new Set(['defer_loading', 'allowed_callers', 'output_schema']);

function normalizeTool(tool: unknown): unknown {
  const given = withoutNulls(tool);
  return isRecord(given) && given.type === 'function'
    ? Object.fromEntries(Object.entries(given).filter(([member]) => !toolHints.has(member)))
    : given;
}

function normalizeItem(item: unknown): unknown {
  if (!isRecord(item)) {
    return item;
  }
  const { id, type, content } = item;
  if (typeof type === 'string' && kept.has(type) && typeof id === 'string') {
    return { type: 'item_reference', id };
  }
  if ('role' in item && (type === undefined || type === 'message')) {
    // A message's phase is for readers; the model receives the text alone.
    const { phase: _, platform: __, ...message } = withoutNulls(item) as Record<string, unknown>;
    return Array.isArray(content) ? { ...message, content: content.map(withoutNulls) } : message;
  }
  return withoutNulls(item);
}

/** A description of the whole answer becomes its schema's; a missing schema allows any JSON. */
function normalizeText(text: Record<string, unknown>): Record<string, unknown> {
  const { format } = text;
  if (!isRecord(format)) {
    return text;
  }
  const { description, ...rest } = withoutNulls(format) as Record<string, unknown>;
  if (rest.type === 'json_schema' && rest.schema === undefined) {
    return { ...text, format: { type: 'json_object' } };
  }
  return {
    ...text,
    format:
      typeof description === 'string' && isRecord(rest.schema)
        ? { ...rest, schema: { description, ...rest.schema } }
        : rest,
  };
}

function withoutNulls(value: unknown): unknown {
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
    : value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
