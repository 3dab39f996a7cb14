import { z } from 'zod'

/** The revisions in If-Match: "7" or 7, a list of such revisions, or *. */
export const IfMatch = z
  .string()
  .regex(
    /^\s*(?:\*|(?:"\d{1,16}"|\d{1,16})(?:\s*,\s*(?:"\d{1,16}"|\d{1,16}))*)\s*$/,
    'Must be a revision such as "3", a list of revisions, or *',
  )
  .transform((text): '*' | number[] =>
    text.trim() === '*' ? '*' : text.split(',').map((tag) => Number(tag.replaceAll(/["\s]/g, ''))),
  )
  .refine(
    (revisions) => revisions === '*' || revisions.every(Number.isSafeInteger),
    `Must be at most ${Number.MAX_SAFE_INTEGER}`,
  )
  .meta({
    description:
      'The revision that the pass must have: the ETag of a response with the pass. A list matches any of its ' +
      'revisions, and * matches every revision.',
    example: '"7"',
  })
