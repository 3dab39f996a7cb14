import { createHash } from 'node:crypto'
import type { Issue } from '../../core/errors.ts'
import { inspectImage } from '../../core/rules/template/image.ts'
import type { TemplateFile } from './template-file.ts'

/** A template file as it can be drawn and looked over without a server: its images have ids of their own. */
export function draftOf(file: Pick<TemplateFile, 'passType' | 'images' | 'withImages'>) {
  const images = file.images.map(({ role, bytes, contentType }) => {
    const id = createHash('sha256').update(bytes).digest('hex').slice(0, 32)
    return { role, id, bytes, contentType, facts: inspectImage(bytes) }
  })
  const faults: Issue[] = images.flatMap(({ role, facts }) =>
    'fault' in facts ? [{ path: ['definition', 'design', 'images', role], message: `The image ${facts.fault}` }] : [],
  )
  return {
    passType: file.passType,
    definition: file.withImages(new Map(images.map(({ role, id }) => [role, id]))),
    images: new Map(
      images.flatMap(({ id, bytes, contentType, facts }) =>
        'fault' in facts ? [] : [[id, { bytes, contentType, width: facts.width, height: facts.height }] as const],
      ),
    ),
    faults,
  }
}
