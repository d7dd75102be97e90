import { neutralValues, type OpenAiCreateBody } from '#api/contract/openai/request.ts';
import type { CreateResponseBody } from '#api/contract/responses.ts';
import { unsupported } from '#domain/kernel/errors.ts';

/** The same request as the native surface takes it. @throws `unsupported_parameter` */
export function toNativeBody(body: OpenAiCreateBody): CreateResponseBody {
  refuseUnimplemented(body);
  const { input, text } = body;
  return {
    input: typeof input === 'string' ? { text: input } : { items: input },
    model: body.model,
    tools: body.tools,
    tool_choice: body.tool_choice,
    tool_mode: 'auto_resolve',
    max_output_tokens: body.max_output_tokens,
    reasoning: body.reasoning,
    stream: body.stream ?? false,
    previous_response_id: body.previous_response_id,
    metadata: body.metadata,
    platform: {
      instructions: body.instructions,
      ...(text?.format == null ? {} : { text: { format: text.format } }),
      temperature: body.temperature,
      top_p: body.top_p,
      parallel_tool_calls: body.parallel_tool_calls,
      include: body.include,
      max_tool_calls: body.max_tool_calls,
    },
  };
}

/** What has no effect here is taken only where it asks for none. */
function refuseUnimplemented(body: OpenAiCreateBody): void {
  for (const [name, neutral] of Object.entries(neutralValues)) {
    const value = body[name as keyof OpenAiCreateBody];
    if (value != null && !neutral.includes(value)) {
      throw unsupported(name);
    }
  }
  if (body.text?.verbosity != null && body.text.verbosity !== 'medium') {
    throw unsupported('text.verbosity');
  }
}
