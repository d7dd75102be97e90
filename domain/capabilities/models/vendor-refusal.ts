/**
 * The parts of a vendor's error that may be disclosed: its HTTP status, and its code and parameter if both are in
 * these lists. The rest is dropped: its text may quote the prompt, the operator's key or an address.
 */
export interface VendorRefusal {
  status: number;
  code: string | null;
  /** In the terms of the OpenAI surface. */
  param: string | null;
}

const codes = new Set([
  // OpenAI, and servers with its API
  'invalid_request_error',
  'unsupported_parameter',
  'unsupported_value',
  'unknown_parameter',
  'missing_required_parameter',
  'invalid_value',
  'invalid_type',
  'invalid_prompt',
  'invalid_image',
  'invalid_image_format',
  'image_too_large',
  'image_too_small',
  'image_content_policy_violation',
  'content_policy_violation',
  'invalid_function_parameters',
  'invalid_json_schema',
  'string_above_max_length',
  'array_above_max_length',
  'integer_above_max_value',
  'integer_below_min_value',
  'decimal_above_max_value',
  'decimal_below_min_value',
  'context_length_exceeded',
  'model_not_found',
  'invalid_api_key',
  'insufficient_quota',
  'billing_hard_limit_reached',
  'rate_limit_exceeded',
  'server_error',
  // Anthropic
  'authentication_error',
  'permission_error',
  'not_found_error',
  'request_too_large',
  'rate_limit_error',
  'api_error',
  'overloaded_error',
  // Google
  'INVALID_ARGUMENT',
  'FAILED_PRECONDITION',
  'OUT_OF_RANGE',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'NOT_FOUND',
  'RESOURCE_EXHAUSTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
]);

/** Vendors' parameter names, mapped to the names used here. */
const params = new Map(
  [
    'temperature',
    'top_p',
    'max_output_tokens',
    'reasoning',
    'reasoning.effort',
    'reasoning.summary',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'text.format',
    'input',
    'instructions',
    'model',
  ]
    .map((name) => [name, name] as const)
    .concat([
      ['max_tokens', 'max_output_tokens'],
      ['max_completion_tokens', 'max_output_tokens'],
      ['messages', 'input'],
      ['contents', 'input'],
      ['response_format', 'text.format'],
      ['reasoning_effort', 'reasoning.effort'],
    ]),
);

/** `said`: the parsed body of a vendor's error, of any shape. */
export function toVendorRefusal(status: number, said: unknown): VendorRefusal {
  const error = membersOf(membersOf(said)['error']);
  const code = [error['code'], error['type'], error['status']].find(
    (word): word is string => typeof word === 'string' && codes.has(word),
  );
  return { status, code: code ?? null, param: toParam(error['param']) };
}

/** `tools[0].function.parameters` becomes `tools`. */
function toParam(said: unknown): string | null {
  const path = typeof said === 'string' ? said.slice(0, 200).split('[', 1).join('') : '';
  return params.get(path) ?? params.get(path.split('.', 1).join('')) ?? null;
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Whether the request is at fault, and not its sender or the vendor. */
export function isRequestFault({ status }: VendorRefusal): boolean {
  return [400, 413, 422].includes(status);
}

const insufficientFunds = ['insufficient_quota', 'billing_hard_limit_reached'];

/** Whether the vendor denies this key access to the model: a retry would not help. */
export function deniesAccess({ status, code }: VendorRefusal): boolean {
  return [401, 402, 403, 404].includes(status) || insufficientFunds.includes(code ?? '');
}
