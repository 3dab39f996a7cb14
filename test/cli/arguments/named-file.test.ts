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

test.each(readers)('names a folder that is given in place of a file to $name', async (read) => {
  const error = await read(tmpdir()).catch((thrown: unknown) => thrown)
  expect(describeFailure(error)).toMatchObject({ message: `${tmpdir()} is a folder, but a file is required` })
})

test.each(readers)('names the missing folder of a file that is given to $name', async (read) => {
  const folder = join(tmpdir(), 'there-is-no-such-folder')
  const error = await read(join(folder, 'file')).catch((thrown: unknown) => thrown)
  expect(describeFailure(error)).toMatchObject({ message: `The folder ${folder} does not exist` })
})

test.each(readers)('names a missing file that is given to $name', async (read) => {
  const path = join(tmpdir(), 'there-is-no-such-file')
  const error = await read(path).catch((thrown: unknown) => thrown)
  expect(describeFailure(error)).toMatchObject({ message: `${path} does not exist` })
})
