import { crc32, deflateRawSync } from 'node:zlib';

/** 1 January 1980, the first date that the format knows: the same files make the same archive. */
const DATE = 0x0021;
const UTF8 = 0x0800;
const DEFLATED = 8;
const VERSION = 20;
const REGULAR_FILE = 0o100644;

/** A zip archive. @param files of `{ path, body }` in their order in the archive */
export function zip(files) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const { path, body } of files) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(body, { level: 9 });
    const common = Buffer.alloc(26);
    common.writeUInt16LE(VERSION, 0);
    common.writeUInt16LE(UTF8, 2);
    common.writeUInt16LE(DEFLATED, 4);
    common.writeUInt16LE(DATE, 8);
    common.writeUInt32LE(crc32(body), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(body.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE((REGULAR_FILE << 16) >>> 0, 6);
    rest.writeUInt32LE(offset, 10);
    // Made by Unix, so that the permissions above count.
    const madeBy = Buffer.from([VERSION, 3]);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02', 'latin1'), madeBy, common, rest, name]));
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, central, Buffer.from('PK\x05\x06', 'latin1'), end]);
}
