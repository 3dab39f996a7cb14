import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fingerprint } from '../../../src/cli/bulk/bulk-journal.ts'
import { readNamed, streamNamed } from '../../../src/cli/command/cli-error.ts'
import { describeFailure } from '../../../src/cli/command/failure.ts'
import { readTemplateFile } from '../../../src/cli/template/template-file.ts'

const readers = [readNamed, fingerprint, readTemplateFile, readStream]

async function readStream(path: string): Promise<void> {
  for await (const _ of streamNamed(path)) break
}

test.each(readers)('a folder where $name wants a file is named', async (read) => {
  const error = await read(tmpdir()).catch((thrown: unknown) => thrown)
  expect(describeFailure(error)).toMatchObject({ message: `${tmpdir()} is a folder, but a file is required` })
})

test.each(readers)('a folder that is missing where $name wants a file in it is named', async (read) => {
  const folder = join(tmpdir(), 'there-is-no-such-folder')
  const error = await read(join(folder, 'file')).catch((thrown: unknown) => thrown)
  expect(describeFailure(error)).toMatchObject({ message: `The folder ${folder} does not exist` })
})

test.each(readers)('a file that $name does not find is named', async (read) => {
  const path = join(tmpdir(), 'there-is-no-such-file')
  const error = await read(path).catch((thrown: unknown) => thrown)
  expect(describeFailure(error)).toMatchObject({ message: `${path} does not exist` })
})
